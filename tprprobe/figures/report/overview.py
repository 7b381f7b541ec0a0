"""An overview of a checkpoint, a store or a corpus, as text and as data.

What reads models and corpora is imported where it is needed: a store is told of without torch.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tprprobe.files.hub import HUB
from tprprobe.files.kinds import KINDS
from tprprobe.store import open_store

MEASURED = 2000  # first examples of a corpus


@dataclass(frozen=True)
class Overview:
    """Facts by name, and tables by title."""

    facts: dict[str, Any]
    tables: dict[str, pd.DataFrame]

    def as_dict(self) -> dict[str, Any]:
        """The overview in JSON types."""
        tables = {
            title: table.astype(object).where(table.notna(), None).to_dict("records")
            for title, table in self.tables.items()
        }
        return {**self.facts, **tables}

    def as_text(self) -> str:
        """The overview as text."""
        lines = [f"{name:14} {value}" for name, value in self.facts.items()]
        for title, table in self.tables.items():
            lines += ["", f"{title}:", table.to_string(index=False) if len(table) else "none"]
        return "\n".join(lines)


def inspect(what: str) -> Overview:
    """An overview of a store, of a corpus, or of a checkpoint with its equations checked on a batch."""
    if what.startswith(HUB) or KINDS["store"].is_in(what):
        return inspect_store(what)
    from tprprobe.data import SOURCES

    if not KINDS["checkpoint"].is_in(what) and any(
        matches(what) for matches, _ in SOURCES.values()
    ):
        return inspect_data(what)
    return inspect_model(what)


def inspect_data(spec: str) -> Overview:
    """Size and split of a corpus, and how much its summaries copy, measured on its first examples."""
    from tprprobe.data import load_data
    from tprprobe.scoring.extractiveness import describe_corpus

    data = load_data(spec)
    facts = {"data": data.name, "split": data.split, "examples": len(data), "seed": data.seed}
    return Overview(facts, {"extractiveness": describe_corpus(data[:MEASURED])})


def inspect_model(name: str) -> Overview:
    """Architecture, sizes, vocabulary, sites, and the largest deviation from the paper's equations."""
    from tprprobe.models import load_model
    from tprprobe.models.equations import binding_contract, describe, random_batch
    from tprprobe.models.protocol import Model

    model = load_model(name)
    about = describe(model)
    facts = {
        "name": name,
        "architecture": about.architecture,
        "parameters": about.parameters,
        "vocabulary": "unknown" if about.vocabulary is None else about.vocabulary,
        **about.settings,
    }
    tables = {"sites": about.sites}
    if isinstance(model, Model):  # of another's we know no equations
        tables["binding contract"] = binding_contract(model, random_batch(model))
    return Overview(facts, tables)


def inspect_store(path: str) -> Overview:
    """Model, data, samples and sites of a store, and whether it has its untrained control."""
    store = open_store(path)
    facts = {
        "store": str(path),
        "samples": store.samples,
        "model": store.manifest["model"]["name"],
        "data": store.manifest["data"]["name"],
        "split": store.manifest["data"]["split"],
        "control": "untrained twin" if store.control is not None else "none",
    }
    return Overview(facts, {"sites": store.summary})
