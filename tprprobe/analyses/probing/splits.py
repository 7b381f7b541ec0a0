"""Which examples of a task train, validate and test, in every turn of the documents."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tprprobe.analyses.probing.examples import Examples, Places, read_examples
from tprprobe.analyses.probing.labelled_words import DEV, JOINED, TEST, TRAIN, Corpus
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError

FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Turn:
    """The places of the examples that train, validate and test."""

    train: Places
    dev: Places
    test: Places


@dataclass(frozen=True, eq=False)
class Splits:
    """The examples of a task on a side, and the ``turns`` in which they train and are tested."""

    examples: Examples
    tested: Examples  # whose places a turn's ``test`` are: the same, or those of another store
    turns: tuple[Turn, ...]
    lost: int

    def of_first_samples(self, n: int) -> "Splits | None":
        """The examples in the first samples, which a twin has read; None where the first turn lacks a split there."""
        examples = self.examples.of_first_samples(n)
        tested = examples if self.tested is self.examples else self.tested.of_first_samples(n)
        n, m = len(examples), len(tested)
        turns = [
            Turn(t.train[t.train < n], t.dev[t.dev < n], t.test[t.test < m]) for t in self.turns
        ]
        first, *others = turns
        if not min(map(len, (first.train, first.dev, first.test))):
            return None
        turns = (first, *(t for t in others if len(t.train) and len(t.test)))
        return Splits(examples, tested, turns, self.lost)

    def learning_from(self, n: int | None, seed: int) -> "Splits":
        """The same with as many training samples, drawn by chance, as have n targets; None: with all."""
        if n is None:
            return self
        turns = [replace(turn, train=self._draw(turn.train, n, seed)) for turn in self.turns]
        return replace(self, turns=tuple(turns))

    def _draw(self, train: Places, n: int, seed: int) -> Places:
        if len(train) <= n:
            return train
        sample = self.examples.sample[train]
        samples, counts = np.unique(sample, return_counts=True)
        order = np.random.default_rng([2, seed]).permutation(len(samples))
        n_samples = max(1, int(np.searchsorted(np.cumsum(counts[order]), n, "right")))
        return train[np.isin(sample, samples[order[:n_samples]])]

    @property
    def has_one_label(self) -> bool:
        """True if every target that is trained on has one label: then there is a codelength."""
        return bool((self.examples.labels[self.turns[0].train].sum(1) == 1).all())

    def portions(self, seed: int) -> Iterator[tuple[float, "Splits"]]:
        """The training portions that double, each tested on what the next adds, the last on the test samples.

        Source: Voita and Titov 2020, online coding.
        """
        turn = self.turns[0]
        train = self.examples.take(turn.train)
        samples = np.random.default_rng([1, seed]).permutation(train.samples)
        sizes = sorted({max(1, round(fraction * len(samples))) for fraction in FRACTIONS})

        def places(start: int, stop: int) -> Places:
            return turn.train[train.within(np.sort(samples[start:stop]))]

        for size, following in pairwise(sizes):
            part = Turn(places(0, size), turn.dev, places(size, following))
            yield size / len(samples), replace(self, tested=self.examples, turns=(part,))
        yield 1.0, replace(self, turns=(turn,))


def split_examples(
    task: Task, corpus: Corpus, test: Corpus | None, settings: ProbeSettings
) -> Splits:
    """The examples of a task for training, validation and testing.

    With a ``test`` corpus all its examples are the test, and documents that it has are not trained on.
    """
    mode, window = settings.mode(corpus.side), settings.window(corpus.side)
    examples = read_examples(corpus, task, mode, window)
    other = None if test is None else read_examples(test, task, mode, window)
    names = [_split_names(split, examples, test) for split in corpus.splits]
    for name in (TRAIN, DEV) if test is not None else (TRAIN, DEV, TEST):
        if not (names[0] == name).any():
            raise InputError(
                f"no targets of {task.name} in the {name} documents on the {corpus.side} side: "
                "extract more samples"
            )
    inventory = task.labels
    if inventory == "training":
        marked = examples.labels[names[0] == TRAIN].any(0)
        inventory = [examples.inventory[i] for i in np.flatnonzero(marked)]
    lost = examples.lost + (0 if other is None else other.lost)
    examples = examples.with_inventory(inventory)
    reference = examples.labels[names[0] == TRAIN]
    examples = examples.with_controls(reference, settings.seed)
    turns = [Turn(*(np.flatnonzero(split == n) for n in (TRAIN, DEV, TEST))) for split in names]
    tested = examples
    if other is not None:
        tested = other.with_inventory(inventory).with_controls(reference, settings.seed)
        turns[0] = replace(turns[0], test=np.arange(len(other)))
    more = turns[1:] if other is None and settings.is_linear else ()
    turns = [turns[0], *(t for t in more if len(t.train) and len(t.test))]
    _check(examples, tested, turns[0], task, settings)
    return Splits(examples, tested, tuple(turns), lost)


def _split_names(split: np.ndarray, examples: Examples, test: Corpus | None) -> np.ndarray:
    """The split of every example; ``test`` for those in documents of another corpus that is tested on."""
    names = split[examples.sample]
    if test is None:
        return names
    tested = {name for group in test.names for name in group.split(JOINED)}
    groups = examples.corpus.names
    known = np.array([not tested.isdisjoint(group.split(JOINED)) for group in groups])
    return np.where(known[examples.document], TEST, names)


def _check(
    examples: Examples, tested: Examples, turn: Turn, task: Task, settings: ProbeSettings
) -> None:
    if not len(turn.test):
        raise InputError(f"no targets of {task.name} on the {examples.corpus.side} side to test on")
    parts = (examples.labels[turn.train], examples.labels[turn.dev], tested.labels[turn.test])
    if settings.loss == "softmax" and any((labels.sum(1) > 1).any() for labels in parts):
        raise InputError(f"targets of {task.name} have several labels: probe with loss sigmoid")
