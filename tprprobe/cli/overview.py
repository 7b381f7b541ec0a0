"""An overview of a checkpoint, a store (without torch and pandas) or a corpus, as text and as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tprprobe import plugins
from tprprobe.files.hub import HUB
from tprprobe.models.kinds import CHECKPOINT
from tprprobe.store import open_store
from tprprobe.store.kinds import STORE

if TYPE_CHECKING:
    import pandas as pd

MEASURED = 2000  # first examples of a corpus

Rows = Sequence[dict[str, object]]  # each with the same columns, in JSON types or tuples


@dataclass(frozen=True)
class Overview:
    """Facts by name, and tables by title."""

    facts: dict[str, object]
    tables: dict[str, Rows]

    def as_dict(self) -> dict[str, object]:
        return {**self.facts, **self.tables}

    def as_text(self) -> str:
        lines = [f"{name:14} {_flat(value)}" for name, value in self.facts.items()]
        for title, rows in self.tables.items():
            lines += ["", f"{title}:", *(_lines(rows) if rows else ["none"])]
        return "\n".join(lines)


def inspect(what: str) -> Overview:
    """An overview of a store, of a corpus, or of a checkpoint with its equations checked on a batch."""
    if what.startswith(HUB) or STORE.is_in(what):
        return inspect_store(what)
    from tprprobe.data import SOURCES
    from tprprobe.files.hub import is_foreign

    if is_foreign(Path(what)) or Path(what).suffix == ".gguf":
        return inspect_model(f"hf:{what}")
    if not CHECKPOINT.is_in(what) and any(matches(what) for matches, _ in SOURCES):
        return inspect_data(what)
    return inspect_model(what)


def inspect_data(spec: str) -> Overview:
    from tprprobe.data import load_data
    from tprprobe.data.annotated.sentencesets import label_texts
    from tprprobe.data.documents.articlefiles import LABEL

    data = load_data(spec)
    reading = {"reading": data.report} if data.report else {}
    columns: Any = data.report.get("columns", ())
    data = label_texts(data, LABEL) if LABEL in columns[1:] else data
    facts = {"data": data.name, "split": data.split, "examples": len(data), "seed": data.seed}
    description, lengths = data.describe(MEASURED)
    tables: dict[str, Rows] = {**lengths}
    for measure in plugins.find("measures").values():
        if (table := measure.load()(data[:MEASURED])) is not None:
            tables[measure.title] = _rows(table)
    return Overview(facts | description | reading, tables)


def inspect_model(name: str) -> Overview:
    from tprprobe.models import load_model
    from tprprobe.models.protocol import Model
    from tprprobe.site.hooks import sites

    model = load_model(name)
    description = model.describe()  # type: ignore[operator]
    facts = {
        "name": name,
        "architecture": description.pop("architecture"),
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "vocabulary": "unknown" if model.vocabulary is None else len(model.vocabulary),
        **description,
    }
    tables = {"sites": _rows(sites(model))}
    for check in plugins.find("checks").values() if isinstance(model, Model) else ():
        tables[check.title] = _rows(check.load()(model))
    return Overview(facts, tables)


def inspect_store(path: str) -> Overview:
    store = open_store(path)
    facts = {
        "store": str(path),
        "samples": store.samples,
        "model": store.facts.model.name,
        "data": store.facts.data.name,
        "split": store.facts.data.split,
        "control": ", ".join(f"{kind} twin" for kind in store.twins) or "none",
    }
    counts: dict[str, Any] = {"reading": store.facts.reading, "counts": store.facts.counts}
    counts |= {"guessed labels": store.facts.guessed, "own labels": [*store.labels]}
    n_maps = max(map(store.count_maps, store.sites), default=0)
    if 0 < n_maps < store.samples:
        facts["attention maps"] = f"of the first {n_maps:,} samples"
    facts |= {name: count for name, count in counts.items() if count}
    return Overview(facts, {"sites": store.facts.describe()})


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{name.replace('_', ' ')} {_flat(fact)}" for name, fact in value.items() if fact
        )
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rows(table: "pd.DataFrame") -> Rows:
    rows: Any = table.rename(columns=str).astype(object).where(table.notna(), None)
    return rows.to_dict("records")


def _lines(rows: Rows) -> list[str]:
    cells = [list(rows[0])]
    cells += [[f"{x:.6g}" if isinstance(x, float) else str(x) for x in r.values()] for r in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.rjust, line, widths)) for line in cells]
