"""Trials: an estimator on the vectors of one source, the labels that it learns, and what it got by document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.probing.examples import LABELS, Splits
from tprprobe.analyses.probing.features import FeatureSource, Rows
from tprprobe.analyses.probing.settings import SEQUENCE, ProbeSettings
from tprprobe.analyses.probing.stored_states import FLOAT, RowReader, StoredStates
from tprprobe.evaluation.controls import IDENTITY, MAJORITY, REAL, predict_without_vectors
from tprprobe.evaluation.intervals import draw_blocks
from tprprobe.evaluation.metrics import (
    NATS,
    TERMS,
    Outcomes,
    Predictions,
    count_labels,
    count_terms,
    predict_one_label,
    sum_groups,
)
from tprprobe.evaluation.runner import chunk, cross_fit, name_estimator

CURVE = ("step", "train_loss", "held_out_loss")
NAMES = ("task", "side", "site", "layer", "head", "seed", "control", "estimator")
STATES = 6  # times its parameters that a probe takes in training

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


@dataclass(frozen=True, eq=False)
class Trial:
    """An estimator to be fitted: the vectors that it reads, the examples, its seed, and the labels that it learns.

    ``portion`` is the share of the training samples that it sees, where it is for a codelength.
    """

    source: FeatureSource
    splits: Splits
    estimator: Any
    seed: int
    control: str
    portion: float | None = None

    @property
    def labels(self) -> str:
        """The name of the labels that it learns, ``real`` or a control."""
        return self.control if self.control in LABELS else REAL

    @property
    def names(self) -> dict[str, Any]:
        """The columns that name its row."""
        source = self.source
        vector = (*self.splits.name, source.site, source.layer, source.head, self.seed)
        estimator = name_estimator(self.estimator)
        return dict(zip(NAMES, (*vector, self.control, estimator), strict=True))


@dataclass(frozen=True, eq=False)
class TrialResult:
    """A trial that was fitted and tested: its counts, and the CURVE of its validations.

    ``estimator`` is the fitted one; None, where it is read again.
    """

    trial: Trial
    counts: Counts
    curve: Float[np.ndarray, "validation 3"]
    estimator: Any = None

    @property
    def sums(self) -> BySubset:
        """The counts by document."""
        return self.counts.sums

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        return float(self.sums[0, :, NATS].sum())


def run_trials(
    trials: Sequence[Trial], reader: RowReader, settings: ProbeSettings
) -> Iterator[TrialResult]:
    """Trials on the same vectors and examples, fitted and tested."""
    splits = trials[0].splits
    states = StoredStates(reader, splits.examples)
    X = tested = read_inputs(states, settings)
    if splits.tested is not splits.examples:
        tested = read_inputs(StoredStates(reader, splits.tested), settings)
    n_together = _count_together(trials[0], states, settings.budget // 2)
    for rows in chunk(trials, n_together):
        batch = trials[rows]
        labels = np.stack([splits.examples.marks[trial.labels] for trial in batch])
        gold = [splits.tested.marks[trial.labels] for trial in batch]
        fit = cross_fit(
            [trial.estimator for trial in batch], X, labels, splits.folds, (tested, gold),
            partial(_count, batch),
        )  # fmt: skip
        for trial, estimator, flat in zip(batch, fit.estimators, fit.sums, strict=True):
            curve = np.array(getattr(estimator, "curve_", ()), float).reshape(-1, len(CURVE))
            yield TrialResult(trial, Counts.unflatten(flat, trial.splits), curve, estimator)


def read_inputs(states: StoredStates, settings: ProbeSettings) -> Any:
    """What an estimator reads of every target."""
    if settings.needs == "spans":
        return states
    if settings.needs == "sequences":
        return states.sequences(settings.mode(SEQUENCE))
    return states.means()


def _count_together(trial: Trial, states: StoredStates, budget: int) -> int:
    """How many estimators are fitted at once: those of many parameters within a budget of memory."""
    count = getattr(trial.estimator, "count_parameters", None)
    if count is None:
        return 2**31
    n_parameters = count(states, len(states.examples.inventory))
    return max(1, budget // (n_parameters * STATES * FLOAT))


def _count(
    trials: Sequence[Trial], number: int, predictions: Predictions, rows: Rows
) -> Float[np.ndarray, " count"]:
    trial = trials[number]
    return count_predictions(trial.splits, predictions, rows, trial.labels).flatten()


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
