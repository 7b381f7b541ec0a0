"""Effects of exchanged vectors on answers, over questions: shares and probabilities with intervals."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprpapers.swaps.exchanges import ALL, ELSEWHERE, PAIR
from tprpapers.swaps.number_pairs import HARMLESS
from tprprobe.statistics import Interval, bootstrap_mean, bounds, group_sums, replicate_totals

WAY = ["model", "vectors", "layer", "head", "at"]
KEYS = ["question", "kind"]


def find_answered(measured: pd.DataFrame) -> Bool[np.ndarray, " row"]:
    """The rows of swaps whose two questions are both answered right without an exchange."""
    alone = measured[measured["vectors"] == "none"].set_index(["model", *KEYS])["original"]
    asked = measured[measured["vectors"] == "question"].set_index(["model", *KEYS])[
        "counterfactual"
    ]
    able = alone & asked.reindex(alone.index)
    index = pd.MultiIndex.from_frame(measured[["model", *KEYS]])
    return able.reindex(index).to_numpy(bool)


def summarize_swaps(measured: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per model, kind, way and subset (all swaps; answered: both questions right before).

    Columns: n, then with 95 % intervals over questions (_low, _high) p_original, p_counterfactual,
    p_other, and the shares of answers written: original, counterfactual (interchange-intervention
    accuracy), other. Of kinds that must not change an answer the two are one, and other is what broke.
    """
    able = find_answered(measured)
    parts = []
    for subset, rows in (("all", measured), ("answered", measured[able])):
        groups: Any = rows.groupby(["kind", *WAY], sort=False)
        for key, group in groups:
            place = dict(zip(["kind", *WAY], key, strict=True))
            parts.append({"subset": subset, **place, "n": len(group)} | _measures(group, seed))
    return pd.DataFrame(parts)


def _measures(group: pd.DataFrame, seed: int) -> dict[str, float]:
    harmless = group["kind"].iloc[0] in HARMLESS
    columns = {name: group[name].to_numpy(float) for name in ("p_original", "p_counterfactual")}
    columns |= {name: group[name].to_numpy(float) for name in ("original", "counterfactual")}
    for prefix in ("p_", ""):
        told = columns[f"{prefix}original"]
        if not harmless:
            told = told + columns[f"{prefix}counterfactual"]
        columns[f"{prefix}other"] = 1 - told
    return _intervals(columns, group["question"].to_numpy(), seed)


def _intervals(
    columns: dict[str, Float[np.ndarray, " row"]], questions: Int[np.ndarray, " row"], seed: int
) -> dict[str, float]:
    """The mean of every column with its interval; all columns share the drawn questions."""
    values = np.stack([*columns.values(), np.ones(len(questions))], 1)
    sums = group_sums(values, questions)
    totals = replicate_totals(sums, seed=seed)
    low, high = bounds(totals[:, :-1] / totals[:, -1:], len(sums))
    means = sums[:, :-1].sum(0) / sums[:, -1].sum()
    found: dict[str, float] = {}
    for name, *three in zip(columns, means, low, high, strict=True):
        value, lower, upper = map(float, three)
        found |= Interval(value, lower, upper).columns(name)
    return found


def compare_places(
    measured: pd.DataFrame,
    at: str = PAIR,
    reference: str = ELSEWHERE,
    value: str = "p_counterfactual",
    seed: int = 0,
) -> pd.DataFrame:
    """One row per model, kind and way: a value ``at`` one place minus at another, swap by swap.

    Places are the pair, elsewhere, or kinds of donors. Columns: difference with its 95 % interval over
    questions, n (the answered swaps that have both).
    """
    rows = measured[find_answered(measured) & (measured["head"] == ALL)]
    keys = ["model", "kind", "vectors", "layer", "question"]
    wide = rows.pivot_table(index=keys, columns="at", values=value, aggfunc="first")
    wide = wide.reindex(columns=[at, reference]).dropna().reset_index()
    parts = []
    groups: Any = wide.groupby(keys[:-1], sort=False)
    for key, group in groups:
        found = bootstrap_mean(
            (group[at] - group[reference]).to_numpy(float),
            group["question"].to_numpy(),
            seed=seed,
        )
        place = dict(zip(keys[:-1], key, strict=True))
        parts.append(place | {"n": len(group)} | found.columns("difference"))
    return pd.DataFrame(parts)


def best_heads(
    measured: pd.DataFrame, value: str = "p_counterfactual", seed: int = 0
) -> pd.DataFrame:
    """One row per model, kind and way of choosing one head: best, or any (the mean of all heads).

    The best head (of any layer) is chosen on half of the answered questions and measured on the
    other half. Columns: choice, layer and head (of the best), value with its interval, n.
    """
    rows = measured[find_answered(measured) & (measured["head"] != ALL)]
    parts = []
    groups: Any = rows.groupby(["model", "kind", "vectors"], sort=False)
    for key, group in groups:
        place = dict(zip(["model", "kind", "vectors"], key, strict=True))
        chosen = group["question"].to_numpy() % 2 == 0
        means = group[chosen].groupby(["layer", "head"])[value].mean()
        held = group[~chosen]
        if means.empty or held.empty:
            continue
        layer, head = means.idxmax()  # type: ignore[misc]
        best = held[(held["layer"] == layer) & (held["head"] == head)]
        for choice, part in (("best", best), ("any", held)):
            found = bootstrap_mean(
                part[value].to_numpy(float), part["question"].to_numpy(), seed=seed
            )
            at = {"layer": layer, "head": head} if choice == "best" else {"layer": ALL, "head": ALL}
            n = part["question"].nunique()
            parts.append(place | {"choice": choice, **at, "n": n} | found.columns(value))
    return pd.DataFrame(parts)
