"""Long tables over steps of a training: curves beside their strongest controls, and from which step on they differ."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy
from scipy import stats

from tprprobe.errors import InputError
from tprprobe.evaluation.results import BEHIND, NUMBERS

BOUNDS = ("pca", "itself")  # controls that nothing has to pass
NOT_NAMES = (*NUMBERS, "run", "step", "seed", "control", "metric")
CURVE, SIGNS = ["run", "metric", "row"], {"_low": -1, "_high": 1}


def pair_controls(table: pd.DataFrame, run: str) -> pd.DataFrame:
    """A row for each metric, row, step and seed of a long table: the ``value``, the strongest ``control`` (NaN: none)
    and their ``difference`` (to 0 where there is none), with intervals; that of the difference adds both in quadrature.
    """
    table = table.dropna(axis=1, how="all")
    if "low" not in table:
        raise InputError(f"{run}: no number has an interval: {', '.join({*table['metric']})}")
    names = [str(name) for name in table if name not in NOT_NAMES]
    texts = table[names].map(_text)
    is_real = table["control"] == ""
    is_rival = ~table["control"].isin(["", *BOUNDS])
    rows = texts[is_real].drop_duplicates() if names else texts[:1]
    varying = [name for name in names if rows[name].nunique() > 1]
    of_controls = texts.apply(lambda column: ~column.isin({*column[is_real]} - {""}))
    metrics = table.loc[table["low"].notna() & (table["metric"] != BEHIND), "metric"].unique()
    pairs = []
    for (_, row), metric in product(rows.iterrows(), metrics):
        is_metric, is_row = table["metric"] == metric, texts == row
        value = _by_step(table[is_real & is_metric & is_row.all(axis=1)], "value").mean()
        is_comparable = is_rival & is_metric & (is_row | of_controls).all(axis=1)
        control = _by_step(table[is_comparable], "control").last()
        labels = {"metric": metric, "row": " ".join(row[varying])}
        pairs.append(value.join(control).reset_index().assign(**labels))
    paired = pd.concat(pairs, ignore_index=True).assign(run=run)
    paired["difference"] = paired["value"] - paired["control"].fillna(0)
    for (end, sign), opposite in zip(SIGNS.items(), reversed(SIGNS), strict=True):
        rival = (paired[f"control{opposite}"] - paired["control"]).fillna(0)
        reach = np.hypot(paired[f"value{end}"] - paired["value"], rival)
        paired[f"difference{end}"] = paired["difference"] + sign * reach
    return paired


def _text(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _by_step(rows: pd.DataFrame, name: str) -> DataFrameGroupBy:
    """The numbers of a row by step and seed, the largest last."""
    columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
    numbers = rows[["step", "seed", *columns]].astype(float).rename(columns=columns)
    return numbers.dropna(subset=name).sort_values(name).groupby(["step", "seed"])


def find_curves(pairs: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, a row for each metric, row and step, with Student's intervals; of one seed its own."""
    steps = pairs.groupby([*CURVE, "step"], sort=False)
    curves, n = steps.mean().drop(columns="seed"), steps.size()
    for name in ("value", "control", "difference"):
        half = steps[name].sem() * stats.t.ppf(0.975, (n - 1).clip(lower=1))
        for end, sign in SIGNS.items():
            interval_end = curves[f"{name}{end}"]
            curves[f"{name}{end}"] = interval_end.where(n == 1, curves[name] + sign * half)
    return curves.reset_index().sort_values([*CURVE, "step"], ignore_index=True)


def find_onsets(pairs: pd.DataFrame) -> pd.DataFrame:
    """A row for each metric and row: the ``step`` from which on the interval of its difference lies above 0 at every
    later step (NaN: never), and ``first`` and ``last``, the earliest and latest of the seeds, each alone.
    """
    by_seed = pd.concat({seed: _onsets(rows) for seed, rows in pairs.groupby("seed")}, axis=1)
    ends = {"first": by_seed.min(axis=1), "last": by_seed.max(axis=1, skipna=False)}
    return pd.DataFrame({"step": _onsets(pairs), **ends}).rename_axis(CURVE).reset_index()


def _onsets(pairs: pd.DataFrame) -> pd.Series:
    curves = find_curves(pairs).groupby(CURVE)
    return pd.Series({key: _onset(curve) for key, curve in curves}, dtype=float)


def _onset(curve: pd.DataFrame) -> float:
    """The first step after the last one whose interval reaches 0."""
    steps = curve["step"].to_numpy()
    not_above = np.flatnonzero(~(curve["difference_low"].to_numpy() > 0))
    index = int(not_above[-1]) + 1 if len(not_above) else 0
    return float(steps[index]) if index < len(steps) else np.nan
