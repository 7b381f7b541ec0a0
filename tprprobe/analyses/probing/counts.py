"""What estimators got: counts of predictions by document, of rules that need no vector too, or scores without predictions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.probing.examples import Splits
from tprprobe.analyses.probing.features import Rows
from tprprobe.evaluation.controls import IDENTITY, MAJORITY, REAL, predict_without_vectors
from tprprobe.evaluation.intervals import (
    Comparison,
    compare,
    compare_blocks,
    draw_blocks,
    interval_by_blocks,
    interval_of,
    jackknife_interval,
)
from tprprobe.evaluation.metrics import (
    TERMS,
    Marks,
    N,
    Outcomes,
    Predictions,
    accuracy,
    count_labels,
    count_terms,
    macro_f1,
    micro_f1,
    precision,
    predict_one_label,
    recall,
    sum_groups,
)
from tprprobe.evaluation.results import number
from tprprobe.evaluation.runner import SCORE, score_rows

BySubset = Float[np.ndarray, "subset document term"]


class Counts(NamedTuple):
    """The TERMS of every document, of all targets and of subsets, and the outcomes of every label by block of documents."""

    sums: BySubset
    outcomes: Outcomes

    def flatten(self) -> Float[np.ndarray, " count"]:
        """All counts in one row, which adds up over folds and is written."""
        return np.concatenate([array.ravel() for array in self])

    @classmethod
    def unflatten(cls, flat: Float[np.ndarray, " count"], splits: Splits) -> "Counts":
        """The counts of a row."""
        n_documents, n_labels = len(splits.tested.corpus.names), len(splits.examples.inventory)
        n_outcomes = 3 * n_labels * (int(draw_blocks(n_documents).max()) + 1)
        sums = flat[:-n_outcomes].reshape(-1, n_documents, len(TERMS))
        return cls(sums, flat[-n_outcomes:].reshape(-1, n_labels, 3))

    @classmethod
    def join(cls, seeds: Sequence[Any]) -> "Counts":
        """The counts of all seeds together."""
        return cls(*(np.sum(arrays, axis=0) for arrays in zip(*seeds, strict=True)))

    def compare(self, reference: Any) -> Comparison:
        """F1 minus the reference's, on the documents of both."""
        shared = (self.sums[0, :, N] > 0) & (reference.sums[0, :, N] > 0)
        return compare(self.sums[0][shared], reference.sums[0][shared], micro_f1)

    def measure(self, subsets: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """F1, macro F1 and accuracy with 95 % intervals over documents, and F1 of subsets, as rows of the long table."""
        sums = self.sums[0][self.sums[0, :, N] > 0]
        totals = sums.sum(0, keepdims=True)
        tested = {"n": int(totals[0, N]), "n_groups": len(sums)}
        yield number("f1", interval_of(sums, micro_f1), **tested)
        macro = interval_by_blocks(self.outcomes, macro_f1, len(sums))
        yield number("macro_f1", macro, **tested)
        yield number("accuracy", interval_of(sums, accuracy), **tested)
        yield number("precision", precision(totals)[0], **tested)
        yield number("recall", recall(totals)[0], **tested)
        for subset, counts in zip(subsets, self.sums[1:], strict=True):
            yield number(f"f1_{subset}", micro_f1(counts.sum(0, keepdims=True))[0])


def count_predictions(
    splits: Splits, predictions: Predictions, rows: Rows, labels: str = REAL
) -> Counts:
    """The counts of predictions for some tested examples; only real labels can be new."""
    examples, task = splits.tested, splits.task
    is_scored = np.array([task.is_scored(label) for label in examples.inventory])
    unseen = examples.unseen[rows] * (labels == REAL)
    gold, documents = examples.marks[labels][rows], examples.document[rows]
    terms = count_terms(predictions, gold, unseen, is_scored)
    subsets = [subset[rows] for subset in examples.subsets().values()]
    blocks = draw_blocks(len(examples.corpus.names))
    return Counts(
        sum_groups(terms, documents, len(blocks), subsets),
        count_labels(predictions, gold, is_scored, blocks[documents], int(blocks.max()) + 1),
    )


def count_baselines(splits: Splits, by_place: bool = False) -> dict[str, Counts]:
    """The counts of rules that need no vector; they give no probabilities. Those that know places and no words are
    ``majority`` alone, the most frequent label of a place.
    """
    flat: dict[str, list[np.ndarray]] = {}
    n_labels = len(splits.examples.inventory)
    train, test = (
        examples.words[:, 0, :1] if by_place else examples.forms
        for examples in (splits.examples, splits.tested)
    )
    for fold in splits.folds:
        labels = splits.examples.labels[fold.train]
        rules = dict(predict_without_vectors(labels, train[fold.train], test[fold.test]))
        for name, codes in {MAJORITY: rules[IDENTITY]}.items() if by_place else rules.items():
            counts = count_predictions(splits, predict_one_label(codes, n_labels), fold.test)
            flat.setdefault(name, []).append(counts.flatten())
    return {name: Counts.unflatten(np.sum(counts, axis=0), splits) for name, counts in flat.items()}


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
