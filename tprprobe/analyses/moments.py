"""Curves over the steps of a training, and the moment from which on a measure lies above its control.

A measure is a column with an interval (NAME, NAME_low, NAME_high); KEYS and ``control`` identify a row.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tprprobe.errors import InputError

KEYS = (
    *("task", "side", "site", "layer", "head", "vectors", "roles", "unit", "family", "probe"),
    *("predictor", "split", "data", "kind", "edit", "at", "strength", "clusters", "metric"),
)
REAL, CEILINGS = ("", "real"), ("pca", "itself")  # nothing has to pass the latter
CURVE, ENDS = ["question", "measure", "row"], {"_low": -1, "_high": 1}


def pair_controls(table: pd.DataFrame, question: str) -> pd.DataFrame:
    """A row a measure, row, step and seed: the ``value``, the strongest ``control`` (NaN: none) and their
    ``difference`` (to 0 where there is none), with intervals; that of the difference adds both in quadrature.

    Raises:
        InputError: no column has an interval.
    """
    names = [str(name) for name in table if {f"{name}{end}" for end in ENDS} <= {*table}]
    if not names:
        raise InputError(f"{question}: no column has an interval: {', '.join(map(str, table))}")
    keys = [key for key in KEYS if key in table]
    text: Any = table[keys].map(_text)
    kind = table["control"].map(_text) if "control" in table else pd.Series("", table.index)
    real, null = kind.isin(REAL), ~kind.isin([*REAL, *CEILINGS])
    rows = text[real].drop_duplicates() if keys else text[:1]
    varying = [key for key in keys if rows[key].nunique() > 1]
    only_controls = text.apply(lambda of: ~of.isin({*of[real]} - {""}))
    pairs = []
    for (_, row), name in product(rows.iterrows(), names):
        same = text == row
        value = _by_step(table[real & same.all(axis=1)], name, "value").mean()
        suits = null & (same | only_controls).all(axis=1)
        control = _by_step(table[suits], name, "control").last()
        label = {"measure": name, "row": " ".join(row[varying])}
        pairs.append(value.join(control).reset_index().assign(**label))
    found = pd.concat(pairs, ignore_index=True).assign(question=question)
    found["difference"] = found["value"] - found["control"].fillna(0)
    for (end, sign), other in zip(ENDS.items(), reversed(ENDS), strict=True):
        of_control = (found[f"control{other}"] - found["control"]).fillna(0)
        reach = np.hypot(found[f"value{end}"] - found["value"], of_control)
        found[f"difference{end}"] = found["difference"] + sign * reach
    return found


def _text(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _by_step(rows: pd.DataFrame, measure: str, name: str) -> Any:
    """A measure's numbers by step and seed, the largest last."""
    named = {f"{measure}{end}": f"{name}{end}" for end in ("", *ENDS)}
    numbers = rows[["step", "seed", *named]].astype(float).rename(columns=named)
    return numbers.dropna(subset=name).sort_values(name).groupby(["step", "seed"])


def find_curves(pairs: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, a row a measure, row and step, with Student's intervals; of one seed its own."""
    steps = pairs.groupby([*CURVE, "step"], sort=False)
    curves, n = steps.mean().drop(columns="seed"), steps.size()
    for name in ("value", "control", "difference"):
        half = steps[name].sem() * stats.t.ppf(0.975, (n - 1).clip(lower=1))
        for end, sign in ENDS.items():
            own = curves[f"{name}{end}"]
            curves[f"{name}{end}"] = own.where(n == 1, curves[name] + sign * half)
    return curves.reset_index().sort_values([*CURVE, "step"], ignore_index=True)


def find_moments(pairs: pd.DataFrame) -> pd.DataFrame:
    """A row a measure and row: the ``step`` from which on the interval of its difference lies above 0 at every
    later step (NaN: never), and ``first`` and ``last``, the earliest and latest of the seeds, each alone.
    """
    alone = pd.concat({seed: _moments(of) for seed, of in pairs.groupby("seed")}, axis=1)
    ends = {"first": alone.min(axis=1), "last": alone.max(axis=1, skipna=False)}
    return pd.DataFrame({"step": _moments(pairs), **ends}).rename_axis(CURVE).reset_index()


def _moments(pairs: pd.DataFrame) -> pd.Series:
    groups: Any = find_curves(pairs).groupby(CURVE)
    return pd.Series({key: _moment(curve) for key, curve in groups}, dtype=float)


def _moment(curve: pd.DataFrame) -> float:
    """The first step after the last one whose interval reaches 0."""
    steps, below = curve["step"].to_numpy(), ~(curve["difference_low"].to_numpy() > 0)
    after = int(np.flatnonzero(below)[-1]) + 1 if below.any() else 0
    return float(steps[after]) if after < len(steps) else np.nan
