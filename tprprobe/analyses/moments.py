"""Curves over the steps of a training, and the moment from which on a measure lies above its control.

A table has ``step`` and ``seed`` (the number of the series) beside the columns of a command. A measure is a
column with an interval (NAME, NAME_low, NAME_high); rows are told apart by KEYS and ``control``.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tprprobe.errors import InputError

KEYS = (
    *("task", "side", "site", "layer", "head", "vectors", "roles", "unit", "family", "probe"),
    *("data", "kind", "edit", "at", "strength", "clusters", "metric"),
)
REAL, CEILINGS = (
    ("", "real"),
    ("pca", "itself"),
)  # the latter are no nulls: nothing has to pass them
ENDS = ("", "_low", "_high")


def find_curves(table: pd.DataFrame) -> pd.DataFrame:
    """A row a measure, row and step: ``value``, its strongest ``control`` and their ``difference`` with intervals.

    An interval is Student's over seeds; of one series, what the table has (of the difference, both added in
    quadrature). A row without a control is compared with 0, and its control is NaN.
    """
    return pd.concat(
        [_over_seeds(rows).assign(**name) for name, rows in _pairs(table)], ignore_index=True
    )


def find_moments(table: pd.DataFrame) -> pd.DataFrame:
    """A row a measure and row: the ``step`` from which on the interval of its difference lies above 0 at every
    later step (NaN: never), and ``first`` and ``last``, the earliest and latest of the series, each alone.
    """
    found = []
    for name, rows in _pairs(table):
        alone = [moment(_over_seeds(of)) for _, of in rows.groupby("seed")]
        ends = {"first": np.nanmin([*alone, np.inf]), "last": np.max(alone)}
        found.append(name | {"step": moment(_over_seeds(rows))} | ends | {"series": len(alone)})
    return pd.DataFrame(found).replace(np.inf, np.nan)


def moment(curve: pd.DataFrame) -> float:
    """The step from which on a curve lies above its control; NaN where it ends below."""
    steps, above = curve["step"].to_numpy(), curve["difference_low"].to_numpy() > 0
    below = np.flatnonzero(~above)
    after = int(below[-1]) + 1 if len(below) else 0
    return float(steps[after]) if after < len(steps) else np.nan


def measures_of(table: pd.DataFrame) -> list[str]:
    """The columns that have an interval.

    Raises:
        InputError: there is none.
    """
    names = [str(name) for name in table if {f"{name}_low", f"{name}_high"} <= {*table}]
    if not names:
        listed = ", ".join(map(str, table))
        raise InputError(f"no column has an interval (NAME, NAME_low, NAME_high): {listed}")
    return names


def _pairs(table: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Every measure of every row, named, and its values beside the strongest control's, a row a step and seed."""
    names, keys = measures_of(table), [key for key in KEYS if key in table]
    text = pd.DataFrame({key: table[key].map(_text) for key in keys}, table.index)
    kind = table["control"].fillna("") if "control" in table else pd.Series("", table.index)
    real, null = kind.isin(REAL), ~kind.isin([*REAL, *CEILINGS])
    known = {key: {*text.loc[real, key]} - {""} for key in keys}
    varying = [key for key in keys if len({*text.loc[real, key]}) > 1]
    rows = text[real].drop_duplicates().to_dict("records") if keys else [{}]
    for row, name in product(rows, names):
        same = [text[key] == row[key] for key in keys]
        suits = [(text[key] == row[key]) | ~text[key].isin(known[key]) for key in keys]
        mine = _by_step(table[np.logical_and.reduce([real, *same])], name)
        mine = mine.groupby(["step", "seed"]).mean()
        of = _by_step(table[np.logical_and.reduce([null, *suits])], name)
        of = of.sort_values(name).groupby(["step", "seed"]).last().reindex(mine.index)
        pair = pd.DataFrame({f"value{end}": mine[name + end] for end in ENDS})
        pair = pair.assign(**{f"control{end}": of[name + end] for end in ENDS}).reset_index()
        if len(pair):
            yield {"measure": name, "row": " ".join(row[key] for key in varying)}, pair


def _text(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _by_step(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows[["step", "seed", *(name + end for end in ENDS)]].astype(float).dropna(subset=name)


def _over_seeds(pairs: pd.DataFrame) -> pd.DataFrame:
    """The curve of a measure and its control over all series that have a step."""
    pairs = pairs.assign(difference=pairs["value"] - pairs["control"].fillna(0))
    for end, sign in (("_low", -1), ("_high", 1)):
        reach = np.hypot(
            pairs[f"value{end}"] - pairs["value"],
            (pairs[f"control{_other(end)}"] - pairs["control"]).fillna(0),
        )
        pairs[f"difference{end}"] = pairs["difference"] + sign * reach
    steps = pairs.groupby("step")
    curve, count = steps.mean().drop(columns="seed"), steps.size()
    if pairs["seed"].nunique() > 1:
        for name in ("value", "control", "difference"):
            half = steps[name].sem() * stats.t.ppf(0.975, (count - 1).clip(lower=1))
            curve[f"{name}_low"], curve[f"{name}_high"] = curve[name] - half, curve[name] + half
    return curve.reset_index()


def _other(end: str) -> str:
    return "_high" if end == "_low" else "_low"
