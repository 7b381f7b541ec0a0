"""Tables of decompositions, of binding operations and of searches of roles: views of the one long table, and what folders hold."""

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.role_findings import NOTHING, RoleSearch
from tprprobe.estimators.bindings.families import BELOW
from tprprobe.evaluation.results import Results, Row, load_view, melt, number, tabulate
from tprprobe.files.tables import Columns, columns, read_table
from tprprobe.site.patterns import layer_of
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
OPERATIONS = ("site", "roles", "operation", "form", "r2", "r2_low", "r2_high", "behind", "behind_low", "behind_high", "is_named", "n_fillers", "n_roles", "pairs")  # fmt: skip
SEARCHED = {"site": "site", "layer": "layer", "roles": "task", "control": "control"}
SEARCHED_SIZES = ("n_roles", "pairs", "n", "groups")
SEARCHED_NUMBERS = ("is_found", *SEARCHED_SIZES, "bits", "longer", "is_near", "stability", "r2")


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


def _by_metric(rows: pd.DataFrame) -> dict[str, Row]:
    records: Any = rows.to_dict("records")
    return {row["metric"]: row for row in records}


def _view_scores(names: Mapping[str, Hashable], rows: pd.DataFrame) -> Row:
    numbers, row = _by_metric(rows), Row(names)
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


def tabulate_operations(table: pd.DataFrame, site: str, roles: str) -> pd.DataFrame:
    """The long table of operations; the form of an operation is the note of its R²."""
    rows = []
    for operation in table.to_dict("records"):
        names = {"site": site, "layer": layer_of(site), "task": roles, "control": ""}
        names |= {"estimator": operation["operation"], "n_groups": operation["n_fillers"]}
        r2, behind = (number(name, read_interval(operation, name)) for name in ("r2", "behind"))
        sizes = [number(name, operation[name]) for name in ("is_named", "n_roles", "pairs")]
        rows += [names | row for row in (r2 | {"note": operation["form"]}, behind, *sizes)]
    return tabulate(rows)


def view_operations(results: Results) -> pd.DataFrame:
    """The table of operations with a row a site, scheme and operation; see [columns](columns.md#operations)."""
    groups = results.table.groupby(["site", "task", "estimator"], sort=False)
    rows = []
    for (site, roles, operation), of_row in groups:
        numbers = _by_metric(of_row)
        row = {"site": site, "roles": roles, "operation": operation, "form": numbers["r2"]["note"]}
        for metric in ("r2", "behind"):
            row |= read_interval(numbers[metric]).columns(metric)
        row |= {name: int(numbers[name]["value"]) for name in ("n_roles", "pairs")}
        row["is_named"] = bool(numbers["is_named"]["value"])
        rows.append(row | {"n_fillers": int(numbers["r2"]["n_groups"])})
    return pd.DataFrame(rows, columns=list(OPERATIONS))


def tabulate_searches(searches: Sequence[RoleSearch]) -> pd.DataFrame:
    """The long table of searches: the numbers of every scheme that was tried, beside controls."""
    tables = [s.schemes.assign(site=s.site, layer=layer_of(s.site)) for s in searches]
    table = pd.concat(tables, ignore_index=True)
    return melt(table, SEARCHED, SEARCHED_NUMBERS, with_missing=True).assign(estimator="search")


def view_searches(results: Results) -> list[RoleSearch]:
    """The searches of a long table, site by site."""
    wide = results.wide().rename(columns={"task": "roles"}).drop(columns=["layer", "estimator"])
    wide = wide.astype(
        dict.fromkeys(("is_found", "is_near"), bool) | dict.fromkeys(SEARCHED_SIZES, int)
    )
    return [_search(str(site), rows) for site, rows in wide.groupby("site", sort=False)]


def _search(site: str, rows: pd.DataFrame) -> RoleSearch:
    found_names = rows.loc[rows["is_found"], "roles"]
    schemes = rows.drop(columns=["site", "found"], errors="ignore").reset_index(drop=True)
    return RoleSearch(site, str(found_names.iloc[0]) if len(found_names) else NOTHING, schemes)


def load_scores(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The scores of a finished run, read from its folder."""
    if (Path(folder) / "scores.csv").is_file():  # of version 0.3 and before
        columns_read = columns(text="site roles family control rank rank_withheld", number="r2")
        table = load_table(folder, "scores.csv", columns_read, "decompose again")
        return table.rename(columns=lambda name: name.replace("learnt", "learned"))
    return load_view(folder, view_scores)


def load_operations(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of operations of a finished run, read from its folder."""
    if (Path(folder) / "operations.csv").is_file():  # of version 0.3 and before
        columns_read = columns(text="site roles operation", number="r2 r2_low r2_high behind")
        return load_table(folder, "operations.csv", columns_read, "compare again")
    return load_view(folder, view_operations)


def load_roles(folder: str | os.PathLike[str]) -> list[RoleSearch]:
    """What a finished run found, site by site, read from its folder."""
    if not (Path(folder) / "schemes.csv").is_file():
        return load_view(folder, view_searches)
    names = columns(text="site found roles control", number="bits longer stability r2")
    table = load_table(folder, "schemes.csv", names, "search again")  # of version 0.3 and before
    return [_search(str(site), rows) for site, rows in table.groupby("site", sort=False)]


def load_table(
    folder: str | os.PathLike[str], table: str, columns_read: Columns, remedy: str
) -> pd.DataFrame:
    """The table of a finished run, whose texts may be empty."""
    rows = read_table(Path(folder) / table, columns_read, remedy)
    return rows.assign(**rows.select_dtypes("str").fillna(""))
