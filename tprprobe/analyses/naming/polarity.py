"""Polarity decoded from clusters alone, on questions that the clusters were not read on.

Most denominators stand behind a `/`: rules that look no further than that are predictors too, and
digits whose polarity is not what their own division says (discordant) are scored on their own.
"""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from tprprobe.analyses.naming.names import REPLICATES, split_questions
from tprprobe.gold.expressions import POLARITIES
from tprprobe.statistics import bounds, divide, group_sums, replicate_totals

PREDICTORS = ("clusters", "majority", "surface", "literal")
COLUMNS = [f"{name}{end}" for name in ("accuracy", "gain") for end in ("", "_low", "_high")]

Mask = Bool[np.ndarray, " token"]
Codes = Int[np.ndarray, " token"]


def decode_polarity(
    labels: Codes, gold: pd.DataFrame, questions: Shaped[np.ndarray, " token"], seed: int = 0
) -> pd.DataFrame:
    """One row per (subset, predictor) of digits: n, accuracy, and the clusters' gain over it, paired.

    predictor  clusters: the commonest polarity of a token's cluster; majority: of all digits, both
               counted on one half of the questions (all are scored on the other); surface: what the
               symbols before a number suggest; literal: the slot in its own division
    subset     all digits; discordant; and of these the ones of questions that are answered right
    _low and _high are 95 % intervals over questions; NaN where a subset has no digits.
    """
    digits = np.flatnonzero((gold["kind"] == "digit") & gold["polarity"].notna())
    rows, learned_on = gold.iloc[digits], split_questions(questions, seed)[digits]
    truth = rows["polarity"].cat.codes.to_numpy(int)
    predictions = (
        _commonest(labels[digits], truth, learned_on),
        _commonest(np.zeros_like(truth), truth, learned_on),
        rows["surface_polarity"].cat.codes.to_numpy(int),
        rows["literal"].to_numpy(int),
    )
    right = np.stack([predicted == truth for predicted in predictions], 1)
    discordant = rows["discordant"].to_numpy(bool)
    subsets = {"all": ~learned_on, "discordant": ~learned_on & discordant}
    subsets["discordant, answered"] = subsets["discordant"] & rows["correct"].to_numpy(bool)
    found = [
        {"subset": subset, "predictor": predictor} | scored
        for subset, inside in subsets.items()
        for predictor, scored in zip(
            PREDICTORS, _score(right[inside], questions[digits][inside], seed), strict=True
        )
    ]
    return pd.DataFrame(found)


def _commonest(labels: Codes, truth: Codes, learned_on: Mask) -> Codes:
    """The commonest class in every token's cluster, or the commonest of all for an unseen cluster."""
    shape = labels.max(initial=0) + 1, len(POLARITIES)
    cells = labels[learned_on] * shape[1] + truth[learned_on]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    best = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax())
    return best[labels]


def _score(
    right: Bool[np.ndarray, "token predictor"], questions: Shaped[np.ndarray, " token"], seed: int
) -> list[dict[str, float]]:
    """Accuracy and gain of every predictor on a subset of digits, with intervals."""
    if not len(right):
        return [dict.fromkeys(COLUMNS, np.nan) | {"n": 0}] * right.shape[1]
    sums = group_sums(np.column_stack([right, np.ones(len(right))]), questions)
    found = _compare(sums.sum(0, keepdims=True))
    drawn = _compare(replicate_totals(sums, REPLICATES, seed))
    columns = {"n": np.full(right.shape[1], len(right))}
    for name, value, replicates in zip(("accuracy", "gain"), found, drawn, strict=True):
        low, high = bounds(replicates, len(sums))
        columns |= {name: value[0], f"{name}_low": low, f"{name}_high": high}
    records: Any = pd.DataFrame(columns).to_dict("records")
    return records


def _compare(totals: Float[np.ndarray, "replicate term"]) -> tuple[np.ndarray, np.ndarray]:
    """The accuracy of every predictor, and how much higher the first one's is."""
    accuracy = divide(totals[:, :-1], np.broadcast_to(totals[:, -1:], totals[:, :-1].shape))
    return accuracy, accuracy[:, :1] - accuracy
