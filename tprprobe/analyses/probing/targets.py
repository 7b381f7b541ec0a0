"""What the probes of a task are asked on one side of a store: spans of rows, labels, controls."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from tprprobe.analyses.probing.tasks import Task
from tprprobe.errors import InputError
from tprprobe.gold.labels import WORD, Target, decode_cell

SpanMode = Literal["first_state", "all_states", "last_state"]
Rows = Int[np.ndarray, "target span edge"]  # half open


@dataclass(frozen=True, eq=False)
class Words:
    """The words on one side of a store, in its order: where their tokens are and what they say.

    ``rows`` are half open, among the tokens of that side.
    """

    sample: Int[np.ndarray, " word"]
    number: Int[np.ndarray, " word"]
    rows: Int[np.ndarray, "word edge"]
    form: np.ndarray
    cells: dict[str, np.ndarray]

    def find(self, sample: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The places of words of samples, −1 where there is no such word."""
        place = np.searchsorted(self._keys, _key(sample, number))
        place = np.minimum(place, len(self._keys) - 1)
        return np.where(self._keys[place] == _key(sample, number), place, -1)

    @property
    def _keys(self) -> np.ndarray:
        return _key(self.sample, self.number)


def _key(sample: np.ndarray, number: np.ndarray) -> np.ndarray:
    return sample.astype(np.int64) * 2**32 + number


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of one task on one side of a store.

    ``labels`` are marks: a row a target, a column a label of ``inventory``; a label that the
    inventory lacks marks nothing. ``rows`` are the tokens of a target's spans, ``words`` their
    words. ``forms`` and ``before`` are hashes of what a span's last word says and of the word before its
    first (−1: none), the same in every store. ``unseen`` counts
    a target's labels that the inventory lacks. ``lost`` targets have a word without a token, or
    one that no state predicts.
    """

    inventory: tuple[str, ...]
    labels: Bool[np.ndarray, "target label"]
    sample: Int[np.ndarray, " target"]
    rows: Rows
    words: Rows
    forms: Int[np.ndarray, "target span"]
    before: Int[np.ndarray, "target span"]
    unseen: Int[np.ndarray, " target"]
    lost: int

    def __len__(self) -> int:
        return len(self.sample)

    def take(self, chosen: np.ndarray) -> "Targets":
        """Some of the targets."""
        parts = ("labels", "sample", "rows", "words", "forms", "before", "unseen")
        return replace(self, **{name: getattr(self, name)[chosen] for name in parts})

    def subsets(self) -> dict[str, Bool[np.ndarray, " target"]]:
        """Targets by where the second span lies, and those whose first span is one token."""
        single = self.rows[:, 0, 1] - self.rows[:, 0, 0] == 1
        if self.rows.shape[1] == 1:
            return {"single": single}
        first, second = self.words[:, 0, 0], self.words[:, 1, 0]
        single = (self.rows[:, :, 1] - self.rows[:, :, 0] == 1).all(1)
        return {"left": second < first, "right": second > first, "single": single}


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
    form = joined.to_numpy(object)
    cells = {t.cells: tokens[t.cells].astype(object).to_numpy()[at][first] for t in tasks}
    rows = np.stack([at[first], at[last] + 1], axis=1)
    return Words(sample[first], number[first], rows, form, cells)


def read_targets(words: Words, task: Task) -> Targets:
    """The targets that the cells of a task list; targets of several labels are one."""
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
    return Targets(
        tuple(map(str, inventory)),
        labels,
        sample[unique],
        np.stack([words.rows[first, 0], words.rows[last, 1]], axis=-1),
        spans[unique],
        forms[last],
        np.where(before >= 0, forms[before], -1),
        np.zeros(len(unique), int),
        lost=int((~kept).sum()),
    )


def _spans(target: Target, task: Task) -> list[tuple[int, int]]:
    given = [span for span in (target.span1, target.span2) if span is not None]
    if len(given) != task.spans:
        raise InputError(
            f"a target of {task.name} ({target.label}) has {len(given)} spans, the task has {task.spans}"
        )
    return given


def with_inventory(targets: Targets, inventory: Sequence[str]) -> Targets:
    """The same targets with columns for other labels; what is not among them marks nothing."""
    labels = np.zeros((len(targets), len(inventory)), bool)
    columns = {label: column for column, label in enumerate(inventory)}
    known = [label in columns for label in targets.inventory]
    labels[:, [columns[label] for label in targets.inventory if label in columns]] = targets.labels[
        :, known
    ]
    unseen = targets.labels[:, np.logical_not(known)].sum(1)
    return replace(targets, inventory=tuple(inventory), labels=labels, unseen=unseen)


def find_states(
    targets: Targets, side: str, mode: SpanMode, starts: Bool[np.ndarray, " row"]
) -> Rows:
    """The states of every span, half open: of a decoder those that predict its tokens.

    The state that predicts a token is the one before, which has read the token before; where there
    is none (``starts`` marks the first token of every sample) the state is −1.
    """
    states = targets.rows.copy()
    if side == "target":
        none = starts[states[..., 0]]
        states -= 1
        states[none] = -1
    if mode == "first_state":
        states[..., 1] = states[..., 0] + 1
    elif mode == "last_state":
        states[..., 0] = states[..., 1] - 1
    return states
