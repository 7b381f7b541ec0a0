"""Trials: an estimator on the vectors of one source, the labels that it learns, and what it got: counts by document, or scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.probing.examples import LABELS, Examples, Splits
from tprprobe.analyses.probing.features import FeatureSource, Rows
from tprprobe.analyses.probing.settings import SEQUENCE, ProbeSettings
from tprprobe.analyses.probing.stored_states import FLOAT, RowReader, StoredStates
from tprprobe.evaluation import intervals, metrics, runner
from tprprobe.evaluation.controls import IDENTITY, MAJORITY, REAL, predict_without_vectors
from tprprobe.evaluation.results import Row, number
from tprprobe.statistics import jackknife

CURVE = ("step", "train_loss", "held_out_loss")
NAMES = ("task", "side", "site", "layer", "head", "seed", "control", "estimator")
STATES = 6  # times its parameters that a probe takes in training


class Counts(NamedTuple):
    """The TERMS of every document, of all targets and of subsets, the outcomes of every label by block of documents, and of every
    target 1 if it is right, −1 if not, 0 if it was not tested.
    """

    sums: Float[np.ndarray, "subset document term"]
    outcomes: metrics.Outcomes
    signs: Float[np.ndarray, " target"]

    def flatten(self) -> Float[np.ndarray, " count"]:
        """All counts in one row, which adds up over folds and is written."""
        return np.concatenate([array.ravel() for array in self])

    @classmethod
    def unflatten(cls, flat: Float[np.ndarray, " count"], splits: Splits) -> "Counts":
        n_documents, n_labels = len(splits.tested.corpus.names), len(splits.examples.inventory)
        n_outcomes = 3 * n_labels * (int(intervals.draw_blocks(n_documents).max()) + 1)
        end = len(flat) - len(splits.tested)
        sums, outcomes, signs = np.split(flat, [end - n_outcomes, end])
        by_document = sums.reshape(-1, n_documents, len(metrics.TERMS))
        return cls(by_document, outcomes.reshape(-1, n_labels, 3), signs)

    @classmethod
    def join(cls, seeds: Sequence[Any]) -> "Counts":
        return cls(*(np.sum(arrays, axis=0) for arrays in zip(*seeds, strict=True)))

    def compare(self, reference: Any) -> intervals.Comparison:
        """F1 minus the reference's, on the documents of both."""
        shared = (self.sums[0, :, metrics.N] > 0) & (reference.sums[0, :, metrics.N] > 0)
        return intervals.compare(self.sums[0][shared], reference.sums[0][shared], metrics.micro_f1)

    def measure(self, subsets: Sequence[str]) -> Iterator[Row]:
        """F1, macro F1 and accuracy with 95 % intervals over documents, and F1 of subsets, as rows of the long table."""
        sums = self.sums[0][self.sums[0, :, metrics.N] > 0]
        totals = sums.sum(0, keepdims=True)
        tested = {"n": int(totals[0, metrics.N]), "n_groups": len(sums)}
        yield number("f1", intervals.interval_of(sums, metrics.micro_f1), **tested)
        macro = intervals.interval_by_blocks(self.outcomes, metrics.macro_f1, len(sums))
        yield number("macro_f1", macro, **tested)
        yield number("accuracy", intervals.interval_of(sums, metrics.accuracy), **tested)
        yield number("precision", metrics.precision(totals)[0], **tested)
        yield number("recall", metrics.recall(totals)[0], **tested)
        for subset, counts in zip(subsets, self.sums[1:], strict=True):
            yield number(f"f1_{subset}", metrics.micro_f1(counts.sum(0, keepdims=True))[0])


def count_predictions(
    splits: Splits, predictions: metrics.Predictions, rows: Rows, labels: str = REAL
) -> Counts:
    """The counts of predictions for some tested examples; only real labels can be new."""
    examples, task = splits.tested, splits.task
    is_scored = np.array([task.is_scored(label) for label in examples.inventory])
    unseen = examples.unseen[rows] * (labels == REAL)
    gold, documents = examples.marks[labels][rows], examples.document[rows]
    terms = metrics.count_terms(predictions, gold, unseen, is_scored)
    subsets = [subset[rows] for subset in examples.subsets().values()]
    blocks = intervals.draw_blocks(len(examples.corpus.names))
    signs = np.zeros(len(examples))
    signs[rows] = (2 * terms[:, metrics.RIGHT] - 1) * terms[:, metrics.N]
    return Counts(
        metrics.sum_groups(terms, documents, len(blocks), subsets),
        metrics.count_labels(
            predictions, gold, is_scored, blocks[documents], int(blocks.max()) + 1
        ),
        signs,
    )


def count_baselines(splits: Splits, by_place: bool = False) -> dict[str, Counts]:
    """The counts of rules that need no vector; those ``by_place`` know no words: ``majority`` is the most frequent label of a place."""
    flat: dict[str, list[np.ndarray]] = {}
    n_labels = len(splits.examples.inventory)
    sets = splits.examples, splits.tested
    train, test = (x.words[:, 0, :1] if by_place else x.forms for x in sets)
    for fold in splits.folds:
        labels = splits.examples.labels[fold.train]
        rules = dict(predict_without_vectors(labels, train[fold.train], test[fold.test]))
        if by_place:
            rules = {MAJORITY: rules[IDENTITY]}
        elif _are_whole_texts(splits.tested):
            del rules[IDENTITY]  # of the last word, mostly a full stop
        for name, codes in rules.items():
            predictions = metrics.predict_one_label(codes, n_labels)
            counts = count_predictions(splits, predictions, fold.test)
            flat.setdefault(name, []).append(counts.flatten())
    return {name: Counts.unflatten(np.sum(counts, axis=0), splits) for name, counts in flat.items()}


def _are_whole_texts(examples: Examples) -> bool:
    """Whether every target is a text of several words."""
    words = examples.corpus.words
    n_words = np.zeros(examples.corpus.store.samples, int)
    np.maximum.at(n_words, words.sample, words.number + 1)
    widths = examples.words[:, 0, 1] - examples.words[:, 0, 0]
    return bool((widths == n_words[examples.sample]).all() and widths.max(initial=0) > 1)


class BlockScores(NamedTuple):
    """The score of all tested targets, then those without a block of documents; the numbers of targets and of documents."""

    scores: Float[np.ndarray, " subset"]
    n: int
    n_groups: int

    def flatten(self) -> Float[np.ndarray, " count"]:
        """All numbers in one row, which is written."""
        return np.array([*self.scores, self.n, self.n_groups], float)

    @classmethod
    def unflatten(cls, flat: Float[np.ndarray, " count"], _splits: Splits) -> "BlockScores":
        return cls(flat[:-2], int(flat[-2]), int(flat[-1]))

    @classmethod
    def join(cls, seeds: Sequence[Any]) -> "BlockScores":
        scores = np.mean([block_scores.scores for block_scores in seeds], axis=0)
        return seeds[0]._replace(scores=scores)

    def compare(self, reference: Any) -> intervals.Comparison:
        """The score minus the reference's, on the same blocks."""
        return intervals.compare_blocks(self.scores, reference.scores, self.n_groups)

    def measure(self, subsets: Sequence[str]) -> Iterator[Row]:
        """The score with its interval, as a row of the long table."""
        interval = jackknife(self.scores, self.n_groups)
        yield number(runner.SCORE, interval, n=self.n, n_groups=self.n_groups)


@dataclass(frozen=True, eq=False)
class Trial:
    """An estimator to be fitted; ``portion`` is the share of the training samples that it sees, where it is for a codelength."""

    source: FeatureSource
    splits: Splits
    estimator: runner.Estimator
    seed: int
    control: str
    portion: float | None = None

    @property
    def labels(self) -> str:
        return self.control if self.control in LABELS else REAL

    @property
    def names(self) -> dict[str, object]:
        source = self.source
        vector = (*self.splits.name, source.site, source.layer, source.head, self.seed)
        estimator = runner.name_estimator(self.estimator)
        return dict(zip(NAMES, (*vector, self.control, estimator), strict=True))


@dataclass(frozen=True, eq=False)
class TrialResult:
    """A trial that was tested: its counts, the CURVE of its validations, and the fitted estimator (None where it is read again)."""

    trial: Trial
    counts: Counts | BlockScores
    curve: Float[np.ndarray, "validation 3"]
    estimator: runner.Estimator | None = None

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        assert isinstance(self.counts, Counts)
        return float(self.counts.sums[0, :, metrics.NATS].sum())


def run_trials(
    trials: Sequence[Trial], reader: RowReader, settings: ProbeSettings
) -> Iterator[TrialResult]:
    """Trials on the same vectors and examples, fitted and tested."""
    splits = trials[0].splits
    states = StoredStates(reader, splits.examples)
    X = tested = read_inputs(states, settings)
    if splits.tested is not splits.examples:
        tested = read_inputs(StoredStates(reader, splits.tested), settings)
    if not runner.has_predictions(trials[0].estimator):
        yield from (_score(trial, X, tested) for trial in trials)
        return
    count_parameters = getattr(trials[0].estimator, "count_parameters", lambda *_: 1)
    size = count_parameters(states, len(splits.examples.inventory)) * STATES * FLOAT
    n_together = max(1, settings.budget // 2 // size)  # within the budget of memory
    for start in range(0, len(trials), n_together):
        batch = trials[start : start + n_together]
        labels = np.stack([splits.examples.marks[trial.labels] for trial in batch])
        gold = [splits.tested.marks[trial.labels] for trial in batch]
        fit = runner.cross_fit(
            [trial.estimator for trial in batch], X, labels, splits.folds, (tested, gold),
            lambda i, predictions, rows, batch=batch: count_predictions(
                splits, predictions, rows, batch[i].labels
            ).flatten(),
        )  # fmt: skip
        for trial, estimator, flat in zip(batch, fit.estimators, fit.sums, strict=True):
            curve = np.array(getattr(estimator, "curve_", ()), float).reshape(-1, len(CURVE))
            yield TrialResult(trial, Counts.unflatten(flat, trial.splits), curve, estimator)


def _score(trial: Trial, X: runner.Inputs, tested: runner.Inputs) -> TrialResult:
    """The score of an estimator without predictions, on the first fold."""
    splits, estimator = trial.splits, runner.copy_unfitted(trial.estimator)
    fold, examples = splits.folds[0], splits.tested
    labels = splits.examples.marks[trial.labels][None]
    train, no_validation = runner.take(X, fold.train), (None, labels[:, :0])
    runner.fit_together([estimator], train, labels[:, fold.train], no_validation, None)
    gold, documents = examples.marks[trial.labels][fold.test], examples.document[fold.test]
    tested = runner.take(tested, fold.test)
    rows = np.flatnonzero(gold.any(1))
    blocks = intervals.draw_blocks(len(examples.corpus.names))[documents]
    subsets = [rows, *(rows[blocks[rows] != block] for block in np.unique(blocks[rows]))]
    scores = [runner.score_rows(estimator, tested, gold, subset) for subset in subsets]
    counts = BlockScores(np.array(scores), len(rows), len(np.unique(documents[rows])))
    return TrialResult(trial, counts, np.empty((0, len(CURVE))), estimator)


def read_inputs(states: StoredStates, settings: ProbeSettings) -> runner.Inputs:
    """What an estimator reads of every target."""
    if settings.needs == "spans":
        return states
    if settings.needs == "sequences":
        return states.sequences(settings.mode(SEQUENCE, False))
    return states.means()
