"""Scores of estimators that predict nothing: one number of all tested targets, and without one block of documents after another."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.probing.features import Rows
from tprprobe.evaluation.intervals import (
    Comparison,
    compare_blocks,
    draw_blocks,
    jackknife_interval,
)
from tprprobe.evaluation.metrics import Marks
from tprprobe.evaluation.results import number
from tprprobe.evaluation.runner import SCORE, score_rows


class BlockScores(NamedTuple):
    """The score of all tested targets, then those without a block of documents; the numbers of targets and of documents."""

    scores: Float[np.ndarray, " subset"]
    n: int
    n_groups: int

    def flatten(self) -> Float[np.ndarray, " count"]:
        """All numbers in one row, which is written."""
        return np.array([*self.scores, self.n, self.n_groups], float)

    @classmethod
    def unflatten(cls, flat: Float[np.ndarray, " count"], _splits: Any) -> "BlockScores":
        """The scores of a row."""
        return cls(flat[:-2], int(flat[-2]), int(flat[-1]))

    @classmethod
    def join(cls, seeds: Sequence[Any]) -> "BlockScores":
        """The mean over seeds."""
        return seeds[0]._replace(
            scores=np.mean([scores_of_seed.scores for scores_of_seed in seeds], axis=0)
        )

    def compare(self, reference: Any) -> Comparison:
        """The score minus the reference's, on the same blocks."""
        return compare_blocks(self.scores, reference.scores, self.n_groups)

    def measure(self, subsets: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The score with its interval, as a row of the long table."""
        interval = jackknife_interval(
            float(self.scores[0]), self.scores[1:].tolist(), self.n_groups
        )
        yield number(SCORE, interval, n=self.n, n_groups=self.n_groups)


def score_blocks(
    estimator: Any, X: Any, gold: Marks, documents: Rows, n_documents: int
) -> BlockScores:
    """What a fitted estimator scores on tested targets."""
    rows = np.flatnonzero(gold.any(1))
    blocks = draw_blocks(n_documents)[documents]
    subsets = [rows, *(rows[blocks[rows] != block] for block in np.unique(blocks[rows]))]
    scores = [score_rows(estimator, X, gold, subset) for subset in subsets]
    return BlockScores(np.array(scores), len(rows), len(np.unique(documents[rows])))
