"""The rows of a store that a map is fitted to, and those held out: questions are never divided."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from tprprobe.analyses.reconstruction.moments import Labels
from tprprobe.errors import InputError
from tprprobe.store.groups import group_tokens

TEST_SHARE, FOLDS, FEWEST = 0.25, 5, 20
SIZES = (100, 300, 1000, 3000, 10000)


@dataclass(frozen=True, eq=False)
class Split:
    """The question of every row; its fold, FOLDS for a held-out one; and nested training sets.

    ``sweeps`` has, for n counted in questions and in positions, a label for every row: the first
    of ``sizes`` that takes it in, −1 if none does.
    """

    questions: Int[np.ndarray, " row"]
    folds: Labels
    sweeps: dict[str, Labels]
    sizes: dict[str, list[int]]

    @property
    def n_training(self) -> int:
        """Training questions."""
        return len(np.unique(self.questions[self.folds < FOLDS]))

    @property
    def held_out(self) -> Bool[np.ndarray, " row"]:
        return self.folds == FOLDS


def split_questions(tokens: pd.DataFrame, seed: int) -> Split:
    """A quarter of the questions held out, the others in folds and in nested training sets.

    The same question asked twice counts as one, and so does a document.
    """
    questions = group_tokens(tokens)
    if (n := len(np.unique(questions))) < FEWEST:
        raise InputError(f"the store has {n} different questions: extract {FEWEST} or more")
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    n_test = round(TEST_SHARE * len(order))
    place = np.empty(len(order), int)  # among the training questions, −1 if held out
    place[order] = np.maximum(np.arange(len(order)) - n_test, -1)
    at = place[questions]
    position = np.full(len(at), -1)
    training = rng.permutation(np.flatnonzero(at >= 0))
    position[training] = np.arange(len(training))
    places = {"question": at, "position": position}
    sizes = {unit: [n for n in SIZES if n <= values.max()] for unit, values in places.items()}
    return Split(
        questions,
        np.where(at < 0, FOLDS, at % FOLDS),
        {unit: _nested(values, sizes[unit]) for unit, values in places.items()},
        sizes,
    )


def _nested(place: Int[np.ndarray, " row"], sizes: Sequence[int]) -> Labels:
    label = np.searchsorted(sizes, place, side="right")
    return np.where((place < 0) | (label == len(sizes)), -1, label)
