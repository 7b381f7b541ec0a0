"""The table of a decomposition's scores: a view of the one long table, and what folders hold."""

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.estimators.bindings.families import BELOW
from tprprobe.evaluation.results import Results, Row, load_view
from tprprobe.files.tables import Columns, columns, read_table
from tprprobe.statistics import read_interval

NAMES = {"site": "site", "roles": "task", "family": "estimator", "control": "control", "design": "design"}  # fmt: skip
ENDS = ("", "_low", "_high")
SHARES = ("share", "share_by_length", "share_shuffled", "share_learned")
SCORES = ("r2", "gain", "learned", "r2_withheld", "substitution", "substitution_withheld")
MEASURES = (*SHARES, "r2", "gain", "beyond", *SCORES[2:])
TEXTS = ("site", "roles", "design", "family", "control", "over", "rank", "rank_withheld", "twin")
SIZES = ("n_fit", "n_fillers", "n_roles", "pairs", "parameters")
COUNTS = ("n", "n_withheld", "n_fit", "groups", *SIZES[1:])
COLUMNS = (*TEXTS, *(f"{name}{end}" for name in MEASURES for end in ENDS), *COUNTS, "penalty")


def view_scores(results: Results) -> pd.DataFrame:
    """The table of scores with a row a site, scheme, family and control; see [columns](columns.md#decompositions)."""
    groups = results.table.groupby(list(NAMES.values()), sort=False, dropna=False)
    rows = [_view_scores(dict(zip(NAMES, key, strict=True)), of_row) for key, of_row in groups]
    is_decoded = any("substitution" in row for row in rows)
    columns_shown = [name for name in COLUMNS if is_decoded or not name.startswith("substitution")]
    texts = (*TEXTS, "penalty")
    table = pd.DataFrame(rows, columns=columns_shown).astype(dict.fromkeys(texts, object))
    kinds = {**dict.fromkeys(texts, "str"), **dict.fromkeys(COUNTS, "Int64")}
    return table.fillna(dict.fromkeys(texts, "")).astype(kinds)


def _view_scores(names: Mapping[str, Hashable], rows: pd.DataFrame) -> Row:
    records: Any = rows.to_dict("records")
    numbers, row = {record["metric"]: record for record in records}, Row(names)
    row["over"] = BELOW.get(row["family"], "mean") if "gain" in numbers else ""
    for metric, values in numbers.items():
        if metric in (*SHARES, *SCORES):
            row |= read_interval(values).columns(metric)
        elif metric in SIZES:
            row[metric] = int(values["value"])
        else:
            row[metric] = values["note"]  # a rank, as text
    row |= read_interval(numbers.get("gain", {"beyond": None}), "beyond").columns("beyond")
    row["twin"] = numbers.get("learned", {}).get("rival", "")
    row["penalty"] = numbers.get("parameters", {}).get("note", "")
    for suffix in ("", "_withheld"):
        if f"r2{suffix}" in numbers:
            row[f"n{suffix}"] = numbers[f"r2{suffix}"]["n"]
    return row | {"groups": numbers.get("r2", {}).get("n_groups", pd.NA)}


def load_scores(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The scores of a finished run, read from its folder."""
    if (Path(folder) / "scores.csv").is_file():  # of version 0.3 and before
        columns_read = columns(text="site roles family control rank rank_withheld", number="r2")
        table = load_table(folder, "scores.csv", columns_read, "decompose again")
        return table.rename(columns=lambda name: name.replace("learnt", "learned"))
    return load_view(folder, view_scores)


def load_table(
    folder: str | os.PathLike[str], table: str, columns_read: Columns, remedy: str
) -> pd.DataFrame:
    """The table of a finished run, whose texts may be empty."""
    rows = read_table(Path(folder) / table, columns_read, remedy)
    return rows.assign(**rows.select_dtypes("str").fillna(""))
