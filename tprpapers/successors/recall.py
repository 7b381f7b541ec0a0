"""Systematic associative recall (SAR): pairs of a cue and a value, then one of the cues; the answer is its value.

``c3 v12 c15 v4 ? c3`` → ``v12``. Cues and values have two halves. In ``train`` and ``dev`` cues of the first half have values of the
second, and cues of the second half values of the first; ``test`` pairs second with second, which never met. A share of
``shared`` percent of the first cues has values of both halves. The authors ask for all cues of a sequence; here one is asked.

Source: Park, Choi & Lee 2024 (arXiv:2406.01012), Sec. on the SAR task, as in the code taewonpark/AID, SARtask/task.
"""

from dataclasses import dataclass

import numpy as np

from tprpapers.successors.splits import World, choose, draw_split, number_symbols, read_counts
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError

ASK = "?"


@dataclass(frozen=True)
class RecallSettings:
    """Pairs of a sequence, the ``size`` of each half of cues and values, and the percentage of ``shared`` first cues."""

    pairs: int = 4
    size: int = 10
    shared: int = 50

    def __post_init__(self) -> None:
        if not (1 <= self.pairs <= self.size and self.shared <= 100):
            raise InputError(
                f"pairs={self.pairs}, size={self.size}, shared={self.shared}: give 1 to `size` pairs, and at "
                "most 100 percent"
            )


def draw_recall(request: Request) -> SymbolSet:
    """The sequences of a split. Settings stand behind the name: ``recall:pairs=4,size=10,shared=50``.

    Raises: InputError for an unknown split or setting, or more examples than there are.
    """
    settings = read_counts(RecallSettings, request.spec.partition(":")[2])
    cues, values = (number_symbols(letter, 2 * settings.size) for letter in "cv")

    def draw(rng: np.random.Generator, is_test: bool) -> SymbolPair:
        usable = cues[settings.size :] if is_test else cues
        sampled_cues = choose(rng, usable, settings.pairs)
        bound = [values[_value_of(cues.index(cue), settings, rng, is_test)] for cue in sampled_cues]
        query_index = int(rng.integers(settings.pairs))
        words = [word for pair in zip(sampled_cues, bound, strict=True) for word in pair]
        return SymbolPair(" ".join([*words, ASK, sampled_cues[query_index]]), bound[query_index])

    return draw_split(request, World(draw, (*cues, *values, ASK)))


def _value_of(cue: int, settings: RecallSettings, rng: np.random.Generator, is_test: bool) -> int:
    size = settings.size
    if is_test:
        return int(rng.integers(size, 2 * size))
    if cue >= size:
        return int(rng.integers(size))
    is_shared = cue < size * settings.shared // 100
    return int(rng.integers(0 if is_shared else size, 2 * size))


load = Loader(draw_recall)
