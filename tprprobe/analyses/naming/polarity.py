"""What clusters tell of numerators and denominators, on questions that the clusters were not read on.

Most denominators stand behind a `/`: rules that look no further than that are predictors too, and
digits whose polarity is not what their own division says (discordant) are scored on their own. A name
is the shortest predicate that explains a cluster, and may say nothing of polarity: so ones digits are counted.
"""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from tprprobe.analyses.naming.names import REPLICATES, split_questions
from tprprobe.gold.expressions import POLARITIES
from tprprobe.statistics import bounds, divide, draw_runs, group_sums, replicate_totals

PREDICTORS = ("clusters", "majority", "surface", "adjacent", "distant", "literal")
COLUMNS = [f"{name}{end}" for name in ("accuracy", "gain") for end in ("", "_low", "_high")]

Mask = Bool[np.ndarray, " token"]
Codes = Int[np.ndarray, " token"]
Runs = Int[np.ndarray, "run token"]


def decode_polarity(
    runs: Runs, gold: pd.DataFrame, questions: Shaped[np.ndarray, " token"], seed: int = 0
) -> pd.DataFrame:
    """One row per (subset, predictor) of digits: n, accuracy, and the clusters' gain over it, paired.

    predictor  clusters: the commonest polarity of a token's cluster; majority: of all digits, both
               counted on one half of the questions (all are scored on the other); denominator if
               there stands before the number, adjacent: '/' itself, surface: '/', '/(' or '/(-',
               distant: '/' and any brackets and signs; literal: the slot in its own division
    subset     all digits; discordant; and of these the ones of questions that are answered right
    Clusters are scored by the mean over runs of k-means; _low and _high are 95 % intervals over
    questions and runs, of which each replicate draws one; NaN where a subset has no digits.
    """
    digits = np.flatnonzero((gold["kind"] == "digit") & gold["polarity"].notna())
    rows, learned_on = gold.iloc[digits], split_questions(questions, seed)[digits]
    truth = rows["polarity"].cat.codes.to_numpy(int)
    behind = rows["behind"].astype(str)
    predictions = (
        *(_commonest(labels[digits], truth, learned_on) for labels in runs),
        _commonest(np.zeros_like(truth), truth, learned_on),
        rows["surface_polarity"].cat.codes.to_numpy(int),
        (behind == "/").to_numpy(int),
        behind.str.startswith("/").to_numpy(int),
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
    right: Bool[np.ndarray, "token column"], questions: Shaped[np.ndarray, " token"], seed: int
) -> list[dict[str, float]]:
    """Accuracy and gain of every predictor on a subset; the first columns of ``right`` are the runs'."""
    if not len(right):
        return [dict.fromkeys(COLUMNS, np.nan) | {"n": 0}] * len(PREDICTORS)
    sums = group_sums(np.column_stack([right, np.ones(len(right))]), questions)
    runs, rules = np.split(_accuracies(sums.sum(0, keepdims=True)), [1 - len(PREDICTORS)], 1)
    found = _compare(runs.mean(1), rules)
    totals = replicate_totals(sums, REPLICATES, seed)
    runs, rules = np.split(_accuracies(totals), [1 - len(PREDICTORS)], 1)
    drawn = _compare(draw_runs(runs, seed), rules)
    columns = {"n": np.full(len(PREDICTORS), len(right))}
    for name, value, replicates in zip(("accuracy", "gain"), found, drawn, strict=True):
        low, high = bounds(replicates, len(sums))
        columns |= {name: value[0], f"{name}_low": low, f"{name}_high": high}
    records: Any = pd.DataFrame(columns).to_dict("records")
    return records


def _accuracies(
    totals: Float[np.ndarray, "replicate term"],
) -> Float[np.ndarray, "replicate column"]:
    return divide(totals[:, :-1], np.broadcast_to(totals[:, -1:], totals[:, :-1].shape))


def _compare(
    clusters: Float[np.ndarray, " replicate"], rules: Float[np.ndarray, "replicate rule"]
) -> tuple[np.ndarray, np.ndarray]:
    """The accuracy of every predictor, and how much higher the first one's is."""
    accuracy = np.column_stack([clusters, rules])
    return accuracy, accuracy[:, :1] - accuracy


def score_ones(
    runs: Int[np.ndarray, "run token"],
    gold: pd.DataFrame,
    questions: Shaped[np.ndarray, " token"],
    seed: int = 0,
) -> pd.DataFrame:
    """One row per polarity: the precision of the best cluster for ones digits that have it.

    precision   P(ones digit of that polarity | cluster), the mean over runs of k-means; a run's
                cluster is chosen on one half of the questions and scored on the other
    n           its tokens there, the mean over runs
    _low and _high are 95 % intervals over questions and runs, of which each replicate draws one.
    """
    learned_on = split_questions(questions, seed)
    ones = ((gold["kind"] == "digit") & (gold["place"] == 0)).fillna(False).to_numpy(bool)
    found = []
    for polarity in POLARITIES:
        members = ones & (gold["polarity"] == polarity).to_numpy(bool)
        clusters = np.stack([_purest(labels, members, learned_on) for labels in runs], 1)
        held_out = np.concatenate([clusters & members[:, None], clusters], 1)[~learned_on].astype(
            float
        )
        sums = group_sums(held_out, questions[~learned_on])
        found.append({"polarity": polarity} | _precision(sums, len(runs), seed))
    return pd.DataFrame(found)


def _purest(labels: Int[np.ndarray, " token"], members: Mask, learned_on: Mask) -> Mask:
    """The tokens of the cluster with the largest share of members."""
    size = np.bincount(labels[learned_on], minlength=labels.max() + 1)
    inside = np.bincount(labels[learned_on], members[learned_on], len(size))
    return labels == np.argmax(inside / np.maximum(size, 1))


def _precision(sums: Float[np.ndarray, "group term"], runs: int, seed: int) -> dict[str, Any]:
    totals = sums.sum(0, keepdims=True)
    drawn = draw_runs(_precisions(replicate_totals(sums, REPLICATES, seed), runs), seed)
    low, high = bounds(drawn, len(sums))
    columns = {"precision": _precisions(totals, runs).mean(), "precision_low": low}
    return {**columns, "precision_high": high, "n": totals[0, runs:].mean()}


def _precisions(
    totals: Float[np.ndarray, "replicate term"], runs: int
) -> Float[np.ndarray, "replicate run"]:
    return divide(totals[:, :runs], totals[:, runs:])
