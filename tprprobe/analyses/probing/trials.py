"""Trials: an estimator on the vectors of one source, the labels that it learns, and what it got by document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.probing.counts import BlockScores, Counts, count_predictions, score_blocks
from tprprobe.analyses.probing.examples import LABELS, Splits
from tprprobe.analyses.probing.features import FeatureSource, Rows
from tprprobe.analyses.probing.settings import SEQUENCE, ProbeSettings
from tprprobe.analyses.probing.stored_states import FLOAT, RowReader, StoredStates
from tprprobe.evaluation.controls import REAL
from tprprobe.evaluation.metrics import NATS, Predictions
from tprprobe.evaluation.runner import (
    chunk,
    cross_fit,
    fit_together,
    has_predictions,
    name_estimator,
    take,
)

CURVE = ("step", "train_loss", "held_out_loss")
NAMES = ("task", "side", "site", "layer", "head", "seed", "control", "estimator")
STATES = 6  # times its parameters that a probe takes in training


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

    def read_counts(self, flat: Float[np.ndarray, " count"]) -> Counts | BlockScores:
        """What it got, from the row that was written."""
        kind = Counts if has_predictions(self.estimator) else BlockScores
        return kind.unflatten(flat, self.splits)

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
    counts: Counts | BlockScores
    curve: Float[np.ndarray, "validation 3"]
    estimator: Any = None

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        assert isinstance(self.counts, Counts)
        return float(self.counts.sums[0, :, NATS].sum())


def run_trials(
    trials: Sequence[Trial], reader: RowReader, settings: ProbeSettings
) -> Iterator[TrialResult]:
    """Trials on the same vectors and examples, fitted and tested."""
    splits = trials[0].splits
    states = StoredStates(reader, splits.examples)
    X = tested = read_inputs(states, settings)
    if splits.tested is not splits.examples:
        tested = read_inputs(StoredStates(reader, splits.tested), settings)
    if not has_predictions(trials[0].estimator):
        yield from (_score(trial, X, tested) for trial in trials)
        return
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


def _score(trial: Trial, X: Any, tested: Any) -> TrialResult:
    """The score of an estimator without predictions, on the first fold."""
    from sklearn.base import clone

    splits, estimator = trial.splits, clone(trial.estimator)
    fold, examples = splits.folds[0], splits.tested
    labels = splits.examples.marks[trial.labels][None]
    fit_together(
        [estimator], take(X, fold.train), labels[:, fold.train], (None, labels[:, :0]), None
    )
    gold, documents = examples.marks[trial.labels][fold.test], examples.document[fold.test]
    tested = take(tested, fold.test)
    scores = score_blocks(estimator, tested, gold, documents, len(examples.corpus.names))
    return TrialResult(trial, scores, np.empty((0, len(CURVE))), estimator)


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
