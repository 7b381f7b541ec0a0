"""Names, agreement and decoding of all heads in one resumable run, kept as tables in a folder."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.kinds import NAMES
from tprprobe.analyses.naming.names import read_gold
from tprprobe.analyses.naming.overviews import find_facts, summarize
from tprprobe.analyses.naming.plan import NamingPlan
from tprprobe.analyses.naming.vector_sets import BASELINE, TRAINED, find_targets
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.notebook import as_html
from tprprobe.files.runs import KeptRun, Part, kept
from tprprobe.files.tables import columns, read_table
from tprprobe.store import Store

FORMAT = "tprprobe-names"
MANIFEST, LABELS = NAMES.file, "labels.parquet"
COLUMNS = columns(text="model vectors site", whole="k", number="layer head")  # of all tables
TABLES = {
    "names": columns(text="name candidate", whole="cluster size", number="precision recall f05"),
    "agreement": columns(text="field measure null", number="value null_mean p_value"),
    "decoding": columns(text="subset predictor", number="n accuracy gain"),
    "ones": columns(text="polarity", number="precision n"),
    "summary": columns(whole="clusters named", number="coverage stability accuracy"),
}

Progress = Callable[[Sequence[Part]], Iterable[Part]]


@dataclass(frozen=True, eq=False)
class Naming:
    """The result of a run of naming: names of all heads' clusters, beside their controls.

    Every table has the columns model, vectors, site, layer, head and k; see [columns](columns.md#names).

    Attributes:
        names: One row per cluster.
        agreement: One row per clustering, gold field, measure and null.
        decoding: One row per clustering, subset and predictor: how well polarity is decoded.
        ones: One row per clustering and polarity: how well a cluster is the ones' place.
        summary: One row per clustering.
        facts: Facts about the questions, and ``missing``: the controls that the store does not have.

    Examples:
        >>> naming = tp.load_run("runs/names")["."]  # doctest: +SKIP
        >>> naming.clusters[["site", "head", "name"]]  # doctest: +SKIP
    """

    names: pd.DataFrame
    agreement: pd.DataFrame
    decoding: pd.DataFrame
    ones: pd.DataFrame
    summary: pd.DataFrame
    facts: dict[str, Any]

    @property
    def heads(self) -> pd.DataFrame:
        """The rows of ``summary`` of the vectors that were asked for, in the trained model."""
        return self._asked(self.summary)

    @property
    def clusters(self) -> pd.DataFrame:
        """The rows of ``names`` of the same."""
        return self._asked(self.names)

    def _asked(self, table: pd.DataFrame) -> pd.DataFrame:
        asked = self.summary["vectors"].iloc[0]
        return table.loc[(table["vectors"] == asked) & (table["model"] == TRAINED)]

    def _repr_html_(self) -> str:
        shown = ["site", "head", "k", "named", "clusters", "coverage", "stability"]
        note = "Controls stand in .summary, the names in .clusters."
        return as_html(
            "Names of role clusters, by head", self.heads[shown], bar="coverage", note=note
        )

    def as_dict(self) -> dict[str, Any]:
        """Facts, summary and names in JSON types; what is missing is None.

        Returns:
            ``facts``, and the rows of ``summary`` and ``names``.
        """
        tables = {"summary": self.summary, "names": self.names}
        without_nan = {name: t.astype(object).where(t.notna(), None) for name, t in tables.items()}
        rows = {name: table.to_dict("records") for name, table in without_nan.items()}
        return {"facts": self.facts, **rows}


def name_all(
    store: Store,
    patterns: str | Sequence[str] = "encoder.*.self.role",
    k: int | Sequence[int] = 20,
    raw: bool = False,
    seed: int = 0,
    baseline: Store | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    projections: int | None = None,
) -> Naming:
    """The names of all clusters of every head of the sites that match, and of their controls.

    Source: schlag §5.1 (k = 20, one head, raw, by eye).

    Args:
        store: A store of arithmetic questions.
        patterns: Sites to cluster, as patterns; default: encoder.*.self.role.
        k: Numbers of clusters; default: 20.
        raw: Cluster raw vectors, without standardizing dimensions.
        seed: Seed of random choices.
        baseline: A store of a Transformer on the same questions, as a baseline.
        out: A new folder for the tables (CSV), the labels (Parquet) and, until then, the parts of the run.
        resume: Resume an interrupted run.
        progress: What shows the parts of the run as they are done.
        projections: How many random projections of LN(z) are a control; default: as many as there are heads.

    Raises:
        InputError: no arithmetic, no such site, a folder of something else, a baseline of other
            questions or without the sites to compare with.
    """
    stores = {TRAINED: store, **store.twins} | ({BASELINE: baseline} if baseline else {})
    ks = [k] if isinstance(k, int) else list(dict.fromkeys(k))
    settings = {
        "format": FORMAT,
        "sites": store.select(patterns),
        "k": ks,
        "raw": raw,
        "seed": seed,
        "projections": projections,
    }
    identities = {model: each.fingerprint for model, each in stores.items()}
    settings |= {"stores": identities, "tprprobe": version("tprprobe")}
    with kept(out) as folder:
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            targets = find_targets(store, patterns, baseline, seed, projections)
            golds = {model: read_gold(each) for model, each in stores.items()}
            plan = NamingPlan(targets, ks, settings["sites"], golds, raw, seed, run)
            for part in progress(plan.parts()):
                part.finish()
            tables = plan.tables()
            decided = (tables["names"], tables["agreement"], tables["decoding"])
            tables["summary"] = summarize(*decided)
            files = {f"{name}.csv": tables[name] for name in TABLES}
            facts = find_facts(plan.targets, plan.golds)
            run.finish(files | {LABELS: plan.labels()}, {"facts": facts})
        return load_names(folder)


def load_names(folder: str | os.PathLike[str]) -> Naming:
    """The result of a finished run, read from its folder.

    Raises:
        InputError: the folder holds no finished run, or one of an earlier version.
    """
    folder = Path(folder)
    manifest = read_json(folder / MANIFEST)
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder} holds no names: give the --out of `tprprobe name`")
    if absent := [name for name in TABLES if not (folder / f"{name}.csv").is_file()]:
        raise InputError(f"{folder} has no {absent[0]}.csv, as of earlier versions: name again")
    again = "name again"
    tables = {
        name: read_table(folder / f"{name}.csv", COLUMNS | more, again)
        for name, more in TABLES.items()
    }
    heads = {name: _with_heads(each, folder / f"{name}.csv") for name, each in tables.items()}
    if not isinstance(facts := manifest.get("facts"), dict):
        raise InputError(f"{folder / MANIFEST} has no facts: {again}")
    return Naming(**heads, facts=facts)


def _with_heads(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    try:
        return table.astype({"head": "Int64"})
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{file}: a head is no whole number: name again") from None
