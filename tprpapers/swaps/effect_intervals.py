"""Effects of exchanged vectors on answers, over questions: shares and probabilities with intervals."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprpapers.swaps.exchanges import ALL, ELSEWHERE, PAIR
from tprpapers.swaps.number_pairs import HARMLESS
from tprprobe.statistics import Interval, bootstrap_mean, bounds, group_sums, replicate_totals

EXCHANGE_COLUMNS = ["model", "vectors", "layer", "head", "at"]
KEYS = ["question", "kind"]


def find_answered(measured: pd.DataFrame) -> Bool[np.ndarray, " row"]:
    """The rows of swaps whose two questions are both answered right without an exchange."""
    solves_original = measured[measured["vectors"] == "none"].set_index(["model", *KEYS])[
        "original"
    ]
    solves_counterfactual = measured[measured["vectors"] == "question"].set_index(["model", *KEYS])[
        "counterfactual"
    ]
    solves_both = solves_original & solves_counterfactual.reindex(solves_original.index)
    index = pd.MultiIndex.from_frame(measured[["model", *KEYS]])
    return solves_both.reindex(index).to_numpy(bool)


def summarize_swaps(measured: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per model, kind, exchange and subset (all swaps; answered: both questions right before).

    Columns: n, then with 95 % intervals over questions (_low, _high) p_original, p_counterfactual,
    p_other, and the shares of answers written: original, counterfactual (interchange-intervention
    accuracy), other. Of kinds that must not change an answer the two are one, and other is what broke.
    """
    is_answered = find_answered(measured)
    records = []
    for subset, rows in (("all", measured), ("answered", measured[is_answered])):
        groups: Any = rows.groupby(["kind", *EXCHANGE_COLUMNS], sort=False)
        for key, group in groups:
            identity = dict(zip(["kind", *EXCHANGE_COLUMNS], key, strict=True))
            records.append({"subset": subset, **identity, "n": len(group)} | _measures(group, seed))
    return pd.DataFrame(records)


def _measures(group: pd.DataFrame, seed: int) -> dict[str, float]:
    harmless = group["kind"].iloc[0] in HARMLESS
    columns = {name: group[name].to_numpy(float) for name in ("p_original", "p_counterfactual")}
    columns |= {name: group[name].to_numpy(float) for name in ("original", "counterfactual")}
    for prefix in ("p_", ""):
        share = columns[f"{prefix}original"]
        if not harmless:
            share = share + columns[f"{prefix}counterfactual"]
        columns[f"{prefix}other"] = 1 - share
    return _intervals(columns, group["question"].to_numpy(), seed)


def _intervals(
    columns: dict[str, Float[np.ndarray, " row"]], questions: Int[np.ndarray, " row"], seed: int
) -> dict[str, float]:
    """The mean of every column of shares with its interval; all columns share the drawn questions."""
    values = np.stack([*columns.values(), np.ones(len(questions))], 1)
    sums = group_sums(values, questions)
    totals = replicate_totals(sums, seed=seed)
    low, high = bounds(totals[:, :-1] / totals[:, -1:], len(sums), lowest=0)
    means = sums[:, :-1].sum(0) / sums[:, -1].sum()
    intervals: dict[str, float] = {}
    for name, *estimates in zip(columns, means, low, high, strict=True):
        value, lower, upper = map(float, estimates)
        intervals |= Interval(value, lower, upper).columns(name)
    return intervals


def compare_places(
    measured: pd.DataFrame,
    place: str = PAIR,
    reference: str = ELSEWHERE,
    value: str = "p_counterfactual",
    seed: int = 0,
) -> pd.DataFrame:
    """One row per model, kind and exchange: a value at one place minus at another, swap by swap.

    Places are the pair, elsewhere, or kinds of donors. Columns: difference with its 95 % interval over
    questions, n (the answered swaps that have both).
    """
    rows = measured[find_answered(measured) & (measured["head"] == ALL)]
    keys = ["model", "kind", "vectors", "layer", "question"]
    wide = rows.pivot_table(index=keys, columns="at", values=value, aggfunc="first")
    wide = wide.reindex(columns=[place, reference]).dropna().reset_index()
    records = []
    groups: Any = wide.groupby(keys[:-1], sort=False)
    for key, group in groups:
        difference = bootstrap_mean(
            (group[place] - group[reference]).to_numpy(float),
            group["question"].to_numpy(),
            seed=seed,
        )
        identity = dict(zip(keys[:-1], key, strict=True))
        records.append(identity | {"n": len(group)} | difference.columns("difference"))
    return pd.DataFrame(records)
