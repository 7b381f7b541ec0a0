"""Labels of words: the examples of a task on one side of a store, their controls, and their splits."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.probing.settings import ProbeSettings, SpanMode
from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError
from tprprobe.gold.labels import WORD, Target, decode_cell
from tprprobe.store import Store
from tprprobe.store.groups import group_tokens

TRAIN, DEV, TEST = "train", "dev", "test"
SHARES = {TEST: 0.2, DEV: 0.1}
FEWEST = 10
SAME = {"validation": DEV, "valid": DEV}
JOINED = " + "  # between the names of documents that are one group
MOST = 1024  # targets of a batch, or those of one sample that has more
FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
LABELS = ("control", "prefix", "shuffled")  # the controls that are other labels

Order = Int[np.ndarray, " sample"]
Spans = Int[np.ndarray, "target span edge"]  # half open
Marks = Bool[np.ndarray, "target label"]
Places = Int[np.ndarray, " _target"]


@dataclass(frozen=True, eq=False)
class Words:
    """The words on one side of a store, in its order: their tokens, texts and label cells.

    ``rows`` are half open, among the tokens of that side.
    """

    sample: Int[np.ndarray, " word"]
    number: Int[np.ndarray, " word"]
    rows: Int[np.ndarray, "word edge"]
    form: np.ndarray
    cells: dict[str, np.ndarray]

    def find(self, sample: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The places of words of samples, −1 where there is no such word."""
        keys = _key(self.sample, self.number)
        place = np.minimum(np.searchsorted(keys, _key(sample, number)), len(keys) - 1)
        return np.where(keys[place] == _key(sample, number), place, -1)

    @property
    def hashes(self) -> Int[np.ndarray, " word"]:
        """A number for every form, the same in every store."""
        return np.array([zlib.crc32(form.encode()) for form in self.form], np.int64)


def _key(sample: np.ndarray, number: np.ndarray) -> np.ndarray:
    return sample.astype(np.int64) * 2**32 + number


@dataclass(frozen=True, eq=False)
class Corpus:
    """One side of a store. ``document`` and ``splits`` are of every sample.

    ``splits`` are the turns of a rotation: in each, other documents are tested, and in all of them
    every document once. There is one where the store has its own split. ``first`` and ``last`` are, for
    every row, the first and the last row of its sample; ``previous`` is a hash of the word before the
    one that the row's vector is asked about.
    """

    store: Store
    side: str
    words: Words
    document: Int[np.ndarray, " sample"]
    names: tuple[str, ...]
    splits: tuple[np.ndarray, ...]
    first: Int[np.ndarray, " row"]
    last: Int[np.ndarray, " row"]
    previous: Int[np.ndarray, " row"]

    @property
    def training_samples(self) -> Order:
        """The samples of the documents that are trained on, in the first turn."""
        return np.flatnonzero(self.splits[0] == TRAIN)


def read_corpus(
    store: Store, tokens: pd.DataFrame, side: str, tasks: Sequence[Task], seed: int | None
) -> Corpus:
    """One side of a store, divided by document: by the column ``split``, or by chance.

    Documents are groups of samples (``group_tokens``); the name of a group has those of all its
    documents. Without a seed all of them are to be tested.
    """
    table = tokens.loc[np.asarray(tokens["side"] == side)].reset_index(drop=True)
    words = read_words(table, tasks)
    sample = table["sample"].to_numpy()
    first = np.searchsorted(sample, sample, "left")
    last = np.searchsorted(sample, sample, "right") - 1
    grouped = tokens.assign(group=group_tokens(tokens)).drop_duplicates("sample")
    per_sample = grouped.set_index("sample").reindex(range(store.samples))
    named = next((c for c in ("document", "question") if c in per_sample), None)
    titles = per_sample[named].astype(str) if named else per_sample.index.astype(str)
    document = pd.factorize(per_sample["group"], use_na_sentinel=False)[0]
    names = pd.Series(titles).groupby(document).agg(lambda some: JOINED.join(dict.fromkeys(some)))
    if seed is None:
        splits = (np.full(len(document), TEST, object),)
    elif "split" in per_sample:
        splits = (_stored_split(per_sample),)
    else:
        splits = tuple(_divide(document, seed))
    previous = _previous(words, side, len(table))
    return Corpus(
        store, side, words, document, tuple(map(str, names)), splits, first, last, previous
    )


def read_words(tokens: pd.DataFrame, tasks: Sequence[Task]) -> Words:
    """The words of the tokens of one side."""
    if WORD not in tokens:
        raise InputError(
            f"the token table has no column {WORD!r}: labels lie on words, extract from labelled data"
        )
    at = np.flatnonzero(tokens[WORD].to_numpy() >= 0)
    sample, number = tokens["sample"].to_numpy()[at], tokens[WORD].to_numpy()[at]
    keys, first = np.unique(_key(sample, number), return_index=True)
    last = len(at) - 1 - np.unique(_key(sample, number)[::-1], return_index=True)[1]
    text = tokens["token"].astype(str).str.strip("▁ ").to_numpy(object)[at]
    owner = np.searchsorted(keys, _key(sample, number))
    joined: Any = pd.Series(text).groupby(owner).sum()
    cells = {t.cells: tokens[t.cells].astype(object).to_numpy()[at][first] for t in tasks}
    rows = np.stack([at[first], at[last] + 1], axis=1)
    return Words(sample[first], number[first], rows, joined.to_numpy(object), cells)


def _stored_split(per_sample: pd.DataFrame) -> np.ndarray:
    names = per_sample["split"].astype(str)
    split = names.map(lambda name: SAME.get(str(name), name)).to_numpy(object)
    if lacking := {TRAIN, DEV, TEST} - {*split}:
        raise InputError(
            f"the column split of this store has no {', '.join(sorted(lacking))}: extract all "
            "three splits, or none"
        )
    return split


def _divide(document: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """The splits by chance of every turn: the documents go round, so that each is tested in one."""
    n = document.max() + 1
    if n < FEWEST:
        raise InputError(f"the store has {n} different documents: extract {FEWEST} or more")
    place = np.random.default_rng(seed).permutation(n)[document]
    tested, checked = (max(1, round(SHARES[name] * n)) for name in (TEST, DEV))
    others = np.linspace(tested, n, round(1 / SHARES[TEST])).round().astype(int)
    for start, stop in pairwise([0, *others]):
        split = np.full(len(document), TRAIN, object)
        split[(place >= start) & (place < stop)] = TEST
        split[(place - stop) % n < checked] = DEV
        yield split


def _previous(words: Words, side: str, n_rows: int) -> Int[np.ndarray, " row"]:
    """A hash of the word before each row's word (−1 at the start); a decoder's row is about the next word."""
    word = np.full(n_rows + 1, -1)
    for token in range(int((words.rows[:, 1] - words.rows[:, 0]).max(initial=0))):
        has = words.rows[:, 0] + token < words.rows[:, 1]
        word[words.rows[has, 0] + token] = np.flatnonzero(has)
    asked = word[1:] if side == "target" else word[:-1]
    place = words.find(words.sample[asked], words.number[asked] - 1)
    return np.where((asked >= 0) & (place >= 0), words.hashes[place], -1)


@dataclass(frozen=True, eq=False)
class Examples:
    """The targets of one task on one side of a store, all of whose spans have states.

    ``marks`` are labels by the name of the control that they belong to (``real`` for none), a row per
    target, a column per label of ``inventory``; a label that the inventory lacks marks nothing, and
    ``unseen`` counts those of each target. ``rows`` are the tokens of a target's spans, ``words`` their
    words, ``states`` the rows that are read for them by ``mode``, with their neighbors in ``window``. ``forms`` and
    ``before`` are hashes of what a span's last word says and of the word before its first (−1: none),
    the same in every store. ``lost`` targets have a word without a token, or one that no state predicts.
    """

    corpus: Corpus
    mode: SpanMode
    window: range
    inventory: tuple[str, ...]
    marks: Mapping[str, Marks]
    sample: Int[np.ndarray, " target"]
    rows: Spans
    words: Spans
    states: Spans
    forms: Int[np.ndarray, "target span"]
    before: Int[np.ndarray, "target span"]
    unseen: Int[np.ndarray, " target"]
    lost: int = 0

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def labels(self) -> Marks:
        """The real labels."""
        return self.marks["real"]

    @property
    def samples(self) -> Order:
        """The samples that have examples."""
        return np.unique(self.sample)

    @property
    def document(self) -> Places:
        """The document of every example."""
        return self.corpus.document[self.sample]

    def take(self, chosen: np.ndarray) -> "Examples":
        """Some of the examples."""
        parts = ("sample", "rows", "words", "states", "forms", "before", "unseen")
        marks = {name: labels[chosen] for name, labels in self.marks.items()}
        return replace(self, marks=marks, **{name: getattr(self, name)[chosen] for name in parts})

    def of_first_samples(self, n: int) -> "Examples":
        """The examples in the first samples, which stand first, as samples rise."""
        return self.take(np.arange(np.searchsorted(self.sample, n)))

    def with_inventory(self, inventory: Sequence[str]) -> "Examples":
        """These examples with the columns of other labels; one that is not among them marks nothing."""
        columns = {label: column for column, label in enumerate(inventory)}
        known = np.array([label in columns for label in self.inventory], bool)
        labels = np.zeros((len(self), len(inventory)), bool)
        to = [columns[label] for label in self.inventory if label in columns]
        labels[:, to] = self.labels[:, known]
        unseen = self.labels[:, ~known].sum(1)
        return replace(self, inventory=tuple(inventory), marks={"real": labels}, unseen=unseen)

    def with_controls(
        self, reference: Bool[np.ndarray, "_reference label"], seed: int
    ) -> "Examples":
        """These examples with the labels of all controls, drawn as often as in the reference.

        A label of ``control`` is drawn for what the last word of every span says, one of ``prefix`` for
        that word and the one before the span, which is all of it that a decoder's state has read.
        """
        pairs = np.concatenate([self.forms, self.before], axis=1)
        drawn = {
            "control": draw_labels(self.forms, reference, seed),
            "prefix": draw_labels(pairs, reference, seed),
            "shuffled": self.labels[np.random.default_rng(seed).permutation(len(self))],
        }
        return replace(self, marks={"real": self.labels, **drawn})

    def subsets(self) -> dict[str, Bool[np.ndarray, " target"]]:
        """Subsets by name: second span to the ``left`` or ``right``, all spans ``single`` tokens."""
        single = (self.rows[:, :, 1] - self.rows[:, :, 0] == 1).all(1)
        if self.rows.shape[1] == 1:
            return {"single": single}
        first, second = self.words[:, 0, 0], self.words[:, 1, 0]
        return {"left": second < first, "right": second > first, "single": single}

    def within(self, samples: Order) -> Places:
        """The places of the examples in some samples, sample by sample."""
        start = np.searchsorted(self.sample, samples, "left")
        lengths = np.searchsorted(self.sample, samples, "right") - start
        owner = np.repeat(np.arange(len(samples)), lengths)
        return start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]

    def batches(self, order: Order, size: int) -> Iterator[Places]:
        """The examples of ``size`` samples at a time, in that order, at most MOST where possible."""
        start = np.searchsorted(self.sample, order, "left")
        stop = np.searchsorted(self.sample, order, "right")
        parts, held, n = [], 0, 0
        for first, last in zip(start[stop > start], stop[stop > start], strict=True):
            if n == size or (n and held + last - first > MOST):
                yield np.concatenate(parts)
                parts, held, n = [], 0, 0
            parts.append(np.arange(first, last))
            held, n = held + last - first, n + 1
        if parts:
            yield np.concatenate(parts)

    def windows(self, chosen: Places, span: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows [state, window] that are read for a span of some examples (−1: none), and of which
        of the chosen ones every state is."""
        start, stop = self.states[chosen, span].T
        lengths = stop - start
        owner = np.repeat(np.arange(len(chosen)), lengths)
        center = start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
        rows = center[:, None] + np.array(self.window)
        first, last = self.corpus.first[center][:, None], self.corpus.last[center][:, None]
        return np.where((rows >= first) & (rows <= last), rows, -1), owner

    def rows_read(self, chosen: Places) -> Int[np.ndarray, " row"]:
        """All rows that are read for some examples, rising."""
        spans = range(self.states.shape[1])
        rows = np.unique(np.concatenate([self.windows(chosen, s)[0].ravel() for s in spans]))
        return rows[rows >= 0]


def read_examples(corpus: Corpus, task: Task, mode: SpanMode, window: range) -> Examples:
    """The targets that the cells of a task list; targets of several labels are one."""
    words = corpus.words
    listed = [
        (place, target)
        for place, cell in enumerate(words.cells[task.cells])
        if isinstance(cell, str) and cell
        for target in decode_cell(cell, int(words.number[place]))
    ]
    place = np.array([place for place, _ in listed], int)
    spans = np.array([_spans(target, task) for _, target in listed], int)
    spans = spans.reshape(len(listed), task.spans, 2)
    sample = words.sample[place]
    first = words.find(sample[:, None], spans[:, :, 0])
    last = words.find(sample[:, None], spans[:, :, 1] - 1)
    has = ((first >= 0) & (last >= 0)).all(1)
    inventory, codes = np.unique([target.label for _, target in listed], return_inverse=True)
    first, last, spans, sample, codes = (x[has] for x in (first, last, spans, sample, codes))
    _, unique, owner = np.unique(
        np.column_stack([sample, spans.reshape(len(spans), 2 * task.spans)]),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    labels = np.zeros((len(unique), len(inventory)), bool)
    labels[owner.reshape(-1), codes] = True
    sample, spans, first, last = (x[unique] for x in (sample, spans, first, last))
    before = words.find(sample[:, None], spans[:, :, 0] - 1)
    rows = np.stack([words.rows[first, 0], words.rows[last, 1]], axis=-1)
    states, forms = _states(rows, corpus, mode), words.hashes
    examples = Examples(
        corpus,
        mode,
        window,
        tuple(map(str, inventory)),
        {"real": labels},
        sample,
        rows,
        spans,
        states,
        forms[last],
        np.where(before >= 0, forms[before], -1),
        np.zeros(len(sample), int),
    )
    stated = (states[..., 0] >= 0).all(1)
    lost = int((~has).sum() + (~stated).sum())
    return replace(examples.take(np.flatnonzero(stated)), lost=lost)


def _spans(target: Target, task: Task) -> list[tuple[int, int]]:
    spans = [span for span in (target.span1, target.span2) if span is not None]
    if len(spans) != task.spans:
        raise InputError(
            f"a target of {task.name} ({target.label}) has {len(spans)} spans, the task has {task.spans}"
        )
    return spans


def _states(rows: Spans, corpus: Corpus, mode: SpanMode) -> Spans:
    """The states of every span, half open: of a decoder those that predict its tokens.

    The state that predicts a token is the one before, which has read the token before; where there
    is none, at the start of a sample, the state is −1.
    """
    states = rows.copy()
    if corpus.side == "target":
        first = states[..., 0]
        none = corpus.first[first] == first
        states -= 1
        states[none] = -1
    if mode == "first_state":
        states[..., 1] = states[..., 0] + 1
    elif mode == "last_state":
        states[..., 0] = states[..., 1] - 1
    return states


def draw_labels(
    keys: Int[np.ndarray, "target key"], labels: Bool[np.ndarray, "_reference label"], seed: int
) -> Marks:
    """A label for every target, drawn once a key from the distribution of ``labels``.

    A key's draw depends on it and the seed only, so that it is the same in every store.
    Source: Hewitt and Liang 2019, control tasks.
    """
    ordered = np.argsort(labels.argmax(1), kind="stable")
    return labels[ordered[(_uniform(keys, seed) * len(labels)).astype(int)]]


def _uniform(keys: Int[np.ndarray, "target key"], seed: int) -> Float64[np.ndarray, " target"]:
    """A number in [0, 1) for every key: splitmix64 over its parts."""
    state = np.full(len(keys), seed, np.uint64)
    for part in keys.T.astype(np.uint64):
        state = (state ^ part) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) / 2**53


@dataclass(frozen=True, eq=False)
class Turn:
    """The places of the examples that train, validate and test."""

    train: Places
    dev: Places
    test: Places


@dataclass(frozen=True, eq=False)
class Splits:
    """The examples of a task on a side, and the ``turns`` in which they train and are tested.

    ``tested`` are those whose places a turn's ``test`` are: the same, or those of another store.
    """

    examples: Examples
    tested: Examples
    turns: tuple[Turn, ...]
    lost: int

    @property
    def side(self) -> str:
        """The side of the store."""
        return self.examples.corpus.side

    def of_first_samples(self, n: int) -> "Splits | None":
        """The examples in the first samples only, all that a twin's store has; None where
        the first turn lacks a split there."""
        examples = self.examples.of_first_samples(n)
        tested = examples if self.tested is self.examples else self.tested.of_first_samples(n)
        turns = [
            Turn(
                t.train[t.train < len(examples)],
                t.dev[t.dev < len(examples)],
                t.test[t.test < len(tested)],
            )
            for t in self.turns
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

    def portions(self, seed: int) -> Iterator[tuple[float, "Splits"]]:
        """The training portions that double, each tested on what the next one adds.

        The last is all training samples, tested on the test samples. Portions are cut by sample, in
        one random order; those that would be the same as the one before are left out.
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

    Raises:
        InputError: a split without targets, or softmax for targets of several labels.
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
    tested = examples
    if other is not None:
        tested = other.with_inventory(inventory).with_controls(reference, settings.seed)

    def turn(split: np.ndarray) -> Turn:
        train, dev, last = (np.flatnonzero(split == name) for name in (TRAIN, DEV, TEST))
        if other is not None:
            last = np.arange(len(other))
        return Turn(train, dev, last)

    turns = [turn(split) for split in names]
    if other is not None or not settings.is_linear:
        turns = turns[:1]
    turns = [turns[0], *(t for t in turns[1:] if len(t.train) and len(t.test))]
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
