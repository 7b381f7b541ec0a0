"""Labelled splits: the targets of a task to train, validate and test on, with every control's labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

from tprprobe.analyses.probing.controls import control_labels
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.sides import DEV, JOINED, TEST, TRAIN, Corpus
from tprprobe.analyses.probing.targets import Targets, read_targets
from tprprobe.analyses.probing.tasks import Task
from tprprobe.errors import InputError

MOST = 1024  # targets of a batch, or those of one sample that has more
FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
Order = Int[np.ndarray, " sample"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The targets of a task in some samples, and their labels.

    ``marks`` are the labels by the name of the control that they belong to; ``places`` where the
    examples stand among the ``total`` of their side.
    """

    corpus: Corpus
    targets: Targets
    marks: Mapping[str, Bool[np.ndarray, "target label"]]
    window: range  # of the span convolution: rows around each state
    places: Int[np.ndarray, " target"]
    total: int

    def take(self, chosen: np.ndarray) -> "Examples":
        """Some of the examples."""
        marks = {name: labels[chosen] for name, labels in self.marks.items()}
        targets, places = self.targets.take(chosen), self.places[chosen]
        return replace(self, targets=targets, marks=marks, places=places)

    def of(self, samples: Order) -> "Examples":
        """The examples in some samples."""
        return self.take(self.within(np.sort(samples)))

    @property
    def samples(self) -> Order:
        """The samples that have examples."""
        return np.unique(self.targets.sample)

    def __len__(self) -> int:
        return len(self.targets)

    def within(self, samples: Order) -> np.ndarray:
        """The targets of some samples, sample by sample."""
        start = np.searchsorted(self.targets.sample, samples, "left")
        lengths = np.searchsorted(self.targets.sample, samples, "right") - start
        owner = np.repeat(np.arange(len(samples)), lengths)
        return start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]

    def batches(self, order: Order, size: int) -> Iterator[np.ndarray]:
        """The targets of ``size`` samples at a time, in that order, at most MOST where possible."""
        start = np.searchsorted(self.targets.sample, order, "left")
        stop = np.searchsorted(self.targets.sample, order, "right")
        parts, held, n = [], 0, 0
        for first, last in zip(start[stop > start], stop[stop > start], strict=True):
            if n == size or (n and held + last - first > MOST):
                yield np.concatenate(parts)
                parts, held, n = [], 0, 0
            parts.append(np.arange(first, last))
            held, n = held + last - first, n + 1
        if parts:
            yield np.concatenate(parts)

    def windows(self, chosen: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows [state, window] that are read for a span of some targets (−1: none), and their targets.

        The second is the target of every state, its place among the chosen ones.
        """
        start, stop = self.targets.states[chosen, span].T
        lengths = stop - start
        owner = np.repeat(np.arange(len(chosen)), lengths)
        within = np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
        center = start[owner] + within
        rows = center[:, None] + np.array(self.window)
        inside = (rows >= self.corpus.first[center][:, None]) & (
            rows <= self.corpus.last[center][:, None]
        )
        return np.where(inside, rows, -1), owner

    def rows(self, samples: Order) -> Int[np.ndarray, " row"]:
        """All rows that are read for some samples, rising."""
        chosen = self.within(samples)
        spans = range(self.targets.states.shape[1])
        found = np.unique(np.concatenate([self.windows(chosen, s)[0].ravel() for s in spans]))
        return found[found >= 0]


@dataclass(frozen=True, eq=False)
class Splits:
    """The examples of a task in training, validation and test documents; ``lost`` targets are in none.

    ``turns`` are divisions in which the other documents are tested, for probes that take their turns,
    and ``whole`` the examples of them all.
    """

    train: Examples
    dev: Examples
    test: Examples
    lost: int = 0
    turns: tuple["Splits", ...] = ()
    whole: Examples | None = None

    def first_samples(self, n: int) -> "Splits":
        """The examples in the first samples only: all that an untrained twin's store has."""
        kept = {}
        for name in (TRAIN, DEV, TEST):
            part: Examples = getattr(self, name)
            kept[name] = part.take(np.flatnonzero(part.targets.sample < n))
        turns = tuple(turn.first_samples(n) for turn in self.turns)
        return replace(self, turns=turns, **kept)  # their places are in the same whole

    def portions(self, seed: int) -> Iterator[tuple[float, "Splits"]]:
        """The training portions that double, each tested on what the next one adds.

        The last is all training samples, tested on the test samples. Portions are cut by sample, in
        one random order; those that would be the same as the one before are left out.
        Source: Voita and Titov 2020, online coding.
        """
        samples = np.random.default_rng([1, seed]).permutation(self.train.samples)
        sizes = sorted({max(1, round(fraction * len(samples))) for fraction in FRACTIONS})
        for size, following in zip(sizes, [*sizes[1:], None], strict=True):
            test = self.test if following is None else self.train.of(samples[size:following])
            portion = replace(
                self, train=self.train.of(samples[:size]), test=test, turns=(), whole=None
            )
            yield size / len(samples), portion


def split_targets(
    task: Task, corpus: Corpus, test: Corpus | None, settings: ProbeSettings
) -> Splits:
    """The targets of a task for training, validation and testing.

    With a ``test`` corpus all its targets are the test, and documents that it has are not trained on.

    Raises:
        InputError: a split without targets, or softmax for targets of several labels.
    """
    mode, window = settings.mode(corpus.side), settings.window(corpus.side)
    targets = read_targets(corpus, task, mode)
    tested, lost = targets, targets.lost
    if test is not None:
        tested = read_targets(test, task, mode)
        lost += tested.lost
    split = _split_names(corpus.split, targets, corpus, test)
    for name in (TRAIN, DEV) if test is not None else (TRAIN, DEV, TEST):
        if not (split == name).any():
            raise InputError(
                f"no targets of {task.name} in the {name} documents on the {corpus.side} side: "
                "extract more samples"
            )
    training = targets.take(np.flatnonzero(split == TRAIN))
    inventory = [targets.inventory[i] for i in np.flatnonzero(training.labels.any(0))]
    if task.labels != "training":
        inventory = list(task.labels)
    reference = training.with_inventory(inventory).labels

    def examples(of: Corpus, some: Targets) -> Examples:
        some = some.with_inventory(inventory)
        marks = control_labels(some, reference, settings.seed)
        return Examples(of, some, marks, window, np.arange(len(some)), len(some))

    everything = examples(corpus, targets)
    other = None if test is None else examples(test, tested)

    def divide(split: np.ndarray) -> Splits:
        train, dev = (everything.take(np.flatnonzero(split == name)) for name in (TRAIN, DEV))
        last = other or everything.take(np.flatnonzero(split == TEST))
        return Splits(_at_most(train, settings), dev, last, lost)

    found = _checked(divide(split), task, settings)
    if other is None and settings.is_linear:
        names = (each[targets.sample] for each in corpus.splits[1:])
        turns = [turn for turn in map(divide, names) if len(turn.train) and len(turn.test)]
        found = replace(found, turns=tuple(turns), whole=everything)
    return found


def _at_most(train: Examples, settings: ProbeSettings) -> Examples:
    """As many samples, drawn by chance, as have the targets that probes may learn from."""
    if settings.targets is None or len(train) <= settings.targets:
        return train
    samples = np.random.default_rng([2, settings.seed]).permutation(train.samples)
    sizes = np.cumsum([len(train.within(samples[i : i + 1])) for i in range(len(samples))])
    return train.of(samples[: max(1, int(np.searchsorted(sizes, settings.targets, "right")))])


def _split_names(
    names: np.ndarray, targets: Targets, corpus: Corpus, test: Corpus | None
) -> np.ndarray:
    """The split of every target; ``test`` for those in documents of another corpus that is tested on."""
    split = names[targets.sample]
    if test is None:
        return split
    tested = {name for each in test.names for name in each.split(JOINED)}
    known = np.array([not tested.isdisjoint(each.split(JOINED)) for each in corpus.names])
    return np.where(known[corpus.document[targets.sample]], TEST, split)


def _checked(found: Splits, task: Task, settings: ProbeSettings) -> Splits:
    if not len(found.test):
        raise InputError(
            f"no targets of {task.name} on the {found.train.corpus.side} side to test on"
        )
    for part in (found.train, found.dev, found.test):
        if settings.loss == "softmax" and (part.targets.labels.sum(1) > 1).any():
            raise InputError(f"targets of {task.name} have several labels: probe with loss sigmoid")
    return found
