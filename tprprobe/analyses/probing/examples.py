"""Examples of a task: the targets that words are labelled with, the states that are read for them, and controls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.probing.labelled_words import Corpus, Order
from tprprobe.analyses.probing.settings import SpanMode
from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError
from tprprobe.gold.labels import Target, decode_cell

MOST = 1024  # targets of a batch, or those of one sample that has more
LABELS = ("control", "prefix", "shuffled")  # the controls that are other labels

Spans = Int[np.ndarray, "target span edge"]  # half open
Marks = Bool[np.ndarray, "target label"]
Places = Int[np.ndarray, " _target"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The targets of one task on one side of a store, all of whose spans have states."""

    corpus: Corpus
    mode: SpanMode
    window: range  # the neighbors of a state that are read with it
    inventory: tuple[str, ...]
    marks: Mapping[
        str, Marks
    ]  # by control, or real; a label that the inventory lacks marks nothing
    sample: Int[np.ndarray, " target"]
    rows: Spans  # the tokens of a target's spans
    words: Spans  # and their words
    states: Spans  # the rows that are read for them
    forms: Int[np.ndarray, "target span"]  # hashes of a span's last word, the same in every store
    before: Int[np.ndarray, "target span"]  # and of the word before its first, −1: none
    unseen: Int[np.ndarray, " target"]  # labels that the inventory lacks
    lost: int = 0  # targets whose words have no token, or no state that predicts them

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

        One of ``control`` is drawn for a span's last word, one of ``prefix`` for it and the word before the span.
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
        start, stop = (np.searchsorted(self.sample, samples, side) for side in ("left", "right"))
        return _members(start, stop)[0]

    def batches(self, order: Order, size: int) -> Iterator[Places]:
        """The examples of ``size`` samples at a time, in that order, at most MOST where possible."""
        start, stop = (np.searchsorted(self.sample, order, side) for side in ("left", "right"))
        parts, held = [], 0
        for first, last in zip(start[stop > start], stop[stop > start], strict=True):
            if len(parts) == size or (parts and held + last - first > MOST):
                yield np.concatenate(parts)
                parts, held = [], 0
            parts.append(np.arange(first, last))
            held += last - first
        if parts:
            yield np.concatenate(parts)

    def windows(self, chosen: Places, span: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows [state, window] that are read for a span of some examples (−1: none), and of which
        of the chosen ones every state is."""
        center, owner = _members(*self.states[chosen, span].T)
        rows = center[:, None] + np.array(self.window)
        first, last = self.corpus.first[center][:, None], self.corpus.last[center][:, None]
        return np.where((rows >= first) & (rows <= last), rows, -1), owner

    def rows_read(self, chosen: Places) -> Int[np.ndarray, " row"]:
        """All rows that are read for some examples, rising."""
        spans = range(self.states.shape[1])
        rows = np.unique(np.concatenate([self.windows(chosen, s)[0].ravel() for s in spans]))
        return rows[rows >= 0]


def _members(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in ranges, one range after another, and of which range each is."""
    lengths = stop - start
    owner = np.repeat(np.arange(len(start)), lengths)
    return start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner], owner


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
    texts = (forms[last], np.where(before >= 0, forms[before], -1))
    targets = (sample, rows, spans, states, *texts, np.zeros(len(sample), int))
    names = tuple(map(str, inventory))
    examples = Examples(corpus, mode, window, names, {"real": labels}, *targets)
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
    """The states of every span, half open: of a decoder those before its tokens, −1 at the start of a sample."""
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
    """A label for every target, drawn from ``labels`` once a key, the same in every store (Hewitt and Liang 2019)."""
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
