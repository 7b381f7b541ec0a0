"""Targets of a task: spans of rows in a side of a store, the states read for them, their labels."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

from tprprobe.analyses.probing.settings import SpanMode
from tprprobe.analyses.probing.sides import Corpus
from tprprobe.analyses.probing.tasks import Task
from tprprobe.errors import InputError
from tprprobe.gold.labels import Target, decode_cell

Rows = Int[np.ndarray, "target span edge"]  # half open


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of one task on one side of a store, all of whose spans have states.

    ``labels`` are marks: a row per target, a column per label of ``inventory``; a label that the
    inventory lacks marks nothing, and ``unseen`` counts those of each target. ``rows`` are the
    tokens of a target's spans, ``words`` their words, ``states`` the rows that are read for them.
    ``forms`` and ``before`` are hashes of what a span's last word says and of the word before its
    first (−1: none), the same in every store. ``lost`` targets have a word without a token, or one
    that no state predicts.
    """

    inventory: tuple[str, ...]
    labels: Bool[np.ndarray, "target label"]
    sample: Int[np.ndarray, " target"]
    rows: Rows
    words: Rows
    states: Rows
    forms: Int[np.ndarray, "target span"]
    before: Int[np.ndarray, "target span"]
    unseen: Int[np.ndarray, " target"]
    lost: int

    def __len__(self) -> int:
        return len(self.sample)

    def take(self, chosen: np.ndarray) -> "Targets":
        """Some of the targets."""
        parts = ("labels", "sample", "rows", "words", "states", "forms", "before", "unseen")
        return replace(self, **{name: getattr(self, name)[chosen] for name in parts})

    def with_inventory(self, inventory: Sequence[str]) -> "Targets":
        """These targets with the columns of other labels; a label that is not among them marks
        nothing.
        """
        labels = np.zeros((len(self), len(inventory)), bool)
        columns = {label: column for column, label in enumerate(inventory)}
        known = np.array([label in columns for label in self.inventory], bool)
        labels[:, [columns[label] for label in self.inventory if label in columns]] = self.labels[
            :, known
        ]
        unseen = self.labels[:, ~known].sum(1)
        return replace(self, inventory=tuple(inventory), labels=labels, unseen=unseen)

    def subsets(self) -> dict[str, Bool[np.ndarray, " target"]]:
        """Subsets of targets by name: second span to the ``left`` or ``right``, all spans ``single`` tokens."""
        single = (self.rows[:, :, 1] - self.rows[:, :, 0] == 1).all(1)
        if self.rows.shape[1] == 1:
            return {"single": single}
        first, second = self.words[:, 0, 0], self.words[:, 1, 0]
        return {"left": second < first, "right": second > first, "single": single}


def read_targets(corpus: Corpus, task: Task, mode: SpanMode) -> Targets:
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
    kept = ((first >= 0) & (last >= 0)).all(1)
    inventory, codes = np.unique([target.label for _, target in listed], return_inverse=True)
    first, last, spans, sample, codes = (x[kept] for x in (first, last, spans, sample, codes))
    _, unique, owner = np.unique(
        np.column_stack([sample, spans.reshape(len(spans), 2 * task.spans)]),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    labels = np.zeros((len(unique), len(inventory)), bool)
    labels[owner.reshape(-1), codes] = True
    first, last = first[unique], last[unique]
    forms = np.array([zlib.crc32(form.encode()) for form in words.form], np.int64)
    before = words.find(sample[unique][:, None], spans[unique][:, :, 0] - 1)
    rows = np.stack([words.rows[first, 0], words.rows[last, 1]], axis=-1)
    states = _states(rows, corpus, mode)
    found = Targets(
        tuple(map(str, inventory)),
        labels,
        sample[unique],
        rows,
        spans[unique],
        states,
        forms[last],
        np.where(before >= 0, forms[before], -1),
        np.zeros(len(unique), int),
        lost=int((~kept).sum()),
    )
    stated = (states[..., 0] >= 0).all(1)
    found = found.take(np.flatnonzero(stated))
    return replace(found, lost=found.lost + int((~stated).sum()))


def _spans(target: Target, task: Task) -> list[tuple[int, int]]:
    given = [span for span in (target.span1, target.span2) if span is not None]
    if len(given) != task.spans:
        raise InputError(
            f"a target of {task.name} ({target.label}) has {len(given)} spans, the task has {task.spans}"
        )
    return given


def _states(rows: Rows, corpus: Corpus, mode: SpanMode) -> Rows:
    """The states of every span, half open: of a decoder those that predict its tokens.

    The state that predicts a token is the one before, which has read the token before; where there
    is none, at the start of a sample, the state is −1.
    """
    states = rows.copy()
    if corpus.side == "target":
        none = corpus.starts[states[..., 0]]
        states -= 1
        states[none] = -1
    if mode == "first_state":
        states[..., 1] = states[..., 0] + 1
    elif mode == "last_state":
        states[..., 0] = states[..., 1] - 1
    return states
