"""Paired comparisons of two runs of probes, for example of two models, on the documents of both."""

import os
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.evaluation.intervals import compare
from tprprobe.evaluation.metrics import TERMS, micro_f1
from tprprobe.statistics import adjust

DOCUMENTS = "documents.parquet"
PLACE = ["task", "side", "stem", "head"]
NO_HEAD = -1
SUFFIXES = ("_first", "_second")


def compare_runs(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    kinds: tuple[str, str] | None = None,
    controls: tuple[str, str] = ("real", "real"),
) -> pd.DataFrame:
    """The difference of F1, first run minus second, of every site on the documents that both tested.

    ``kinds`` compares different vectors of the same sub-layer, ``("tpr", "filler")`` a TPR model's
    final representation with a Transformer's; ``controls`` the rows of these controls, ``("real",
    "untrained")`` of one run the trained model with its untrained twin. The test is paired: documents
    are drawn, and both runs are counted on each. Columns: task, side, site, head, difference with its
    95 % interval, p, documents, and p_holm, corrected over the table. Seeds are added up.

    Raises:
        InputError: a folder holds no probes, or the two share no site or document.
    """
    tables = [
        _read(Path(folder), control)
        for folder, control in zip((first, second), controls, strict=True)
    ]
    if kinds is not None:
        tables = [
            t[t["kind"] == kind].assign(kind="") for t, kind in zip(tables, kinds, strict=True)
        ]
    keys = [*PLACE, "kind"]
    added: list[Any] = [
        table.groupby([*keys, "document"])[[*TERMS]].sum().add_suffix(suffix)
        for table, suffix in zip(tables, SUFFIXES, strict=True)
    ]
    joined = added[0].join(added[1], how="inner")
    if joined.empty:
        raise InputError(f"{first} and {second} share no site or no document: nothing to compare")
    rows = [_compare(place, part) for place, part in joined.groupby(keys)]
    return pd.DataFrame(rows).assign(p_holm=lambda table: adjust(table["p"].to_numpy(), "holm"))


def _read(folder: Path, control: str) -> pd.DataFrame:
    """The counts of a control's rows by document; sites in two parts."""
    if not (folder / DOCUMENTS).is_file():
        raise InputError(
            f"{folder} holds no probes: make them with `tprprobe probe … --out {folder}`"
        )
    table: Any = pd.read_parquet(folder / DOCUMENTS)
    table = table[table["control"] == control]
    parts = table["site"].astype(str).str.rpartition(".")
    return table.assign(stem=parts[0], kind=parts[2], head=table["head"].fillna(NO_HEAD))


def _compare(place: Any, part: pd.DataFrame) -> dict[str, Any]:
    task, side, stem, head, kind = place
    first, second = [part[[term + suffix for term in TERMS]].to_numpy(float) for suffix in SUFFIXES]
    names = {"task": task, "side": side, "site": f"{stem}.{kind}".rstrip(".")}
    found = compare(first, second, micro_f1)
    interval = {
        "difference": found.difference.value,
        "low": found.difference.low,
        "high": found.difference.high,
    }
    tested = {"p": found.p, "documents": found.n_groups}
    return names | {"head": None if head == NO_HEAD else int(head)} | interval | tested
