"""Is there a cluster of the ones digits of numerators, and one of denominators'? Counted straight.

A name is the shortest predicate that explains a cluster, and may say nothing of place or polarity
where a shorter one ties; this asks of every cluster how many of its tokens are such digits.
"""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from tprprobe.analyses.naming.names import REPLICATES, split_questions
from tprprobe.gold.expressions import POLARITIES
from tprprobe.statistics import bounds, divide, draw_runs, group_sums, replicate_totals

Mask = Bool[np.ndarray, " token"]


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
        clusters = np.stack([_best(labels, members, learned_on) for labels in runs], 1)
        held_out = np.concatenate([clusters & members[:, None], clusters], 1)[~learned_on].astype(
            float
        )
        sums = group_sums(held_out, questions[~learned_on])
        found.append({"polarity": polarity} | _score(sums, len(runs), seed))
    return pd.DataFrame(found)


def _best(labels: Int[np.ndarray, " token"], members: Mask, learned_on: Mask) -> Mask:
    """The tokens of the cluster with the largest share of members."""
    size = np.bincount(labels[learned_on], minlength=labels.max() + 1)
    inside = np.bincount(labels[learned_on], members[learned_on], len(size))
    return labels == np.argmax(inside / np.maximum(size, 1))


def _score(sums: Float[np.ndarray, "group term"], runs: int, seed: int) -> dict[str, Any]:
    totals = sums.sum(0, keepdims=True)
    drawn = draw_runs(_precisions(replicate_totals(sums, REPLICATES, seed), runs), seed)
    low, high = bounds(drawn, len(sums))
    columns = {"precision": _precisions(totals, runs).mean(), "precision_low": low}
    return {**columns, "precision_high": high, "n": totals[0, runs:].mean()}


def _precisions(
    totals: Float[np.ndarray, "replicate term"], runs: int
) -> Float[np.ndarray, "replicate run"]:
    return divide(totals[:, :runs], totals[:, runs:])
