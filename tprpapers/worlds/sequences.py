"""Sequences of digits or letters, to be copied, reversed, sorted or interleaved.

A seed draws 50,000 different sequences, the same for every task: 40,000 to train, 5,000 each for dev
and test. Lengths are drawn evenly. Source: McCoy et al. 2019 (arXiv:1812.08718), Sec. 2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from string import ascii_lowercase, digits
from types import MappingProxyType
from typing import Any

import numpy as np

from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError, unknown

PREFIX = "sequences:"
SIZES = {"train": 40_000, "dev": 5_000, "test": 5_000}
SYMBOLS = {"digits": tuple(digits), "letters": tuple(ascii_lowercase)}
DRAW_SIZE = 2**16  # sequences at a time

Symbols = Sequence[str]


def interleave(symbols: Symbols) -> list[str]:
    """The first symbol, the last, the second, the last but one, …

    >>> interleave("12345")
    ['1', '5', '2', '4', '3']
    """
    turns = zip(symbols, reversed(symbols), strict=True)
    return [symbol for turn in turns for symbol in turn][: len(symbols)]


TASKS: Mapping[str, Callable[[Symbols], Symbols]] = MappingProxyType(
    {
        "copy": list,
        "reverse": lambda symbols: symbols[::-1],
        "sort": sorted,
        "interleave": interleave,
    }
)


@dataclass(frozen=True, slots=True)
class SequenceKnobs:
    """The settings of sequences: their ``symbols`` (digits or letters), and the ``longest`` length."""

    symbols: str = "digits"
    longest: int = 6

    def __post_init__(self) -> None:
        if self.symbols not in SYMBOLS:
            raise unknown("symbols", self.symbols, SYMBOLS)
        if self.longest < 1 or self.possible < 2 * sum(SIZES.values()):
            raise InputError(
                f"longest={self.longest}: {self.possible:,} sequences of {self.symbols} are too few "
                f"for {sum(SIZES.values()):,} different ones; give a larger number"
            )

    @property
    def possible(self) -> int:
        """The number of different sequences."""
        n = len(SYMBOLS[self.symbols])
        return sum(n**length for length in range(1, self.longest + 1))


def draw_sequences(request: Request) -> SymbolSet:
    """The generated sequences of a split, or the first n; by default all of `test`.

    Knobs stand behind the task: `sequences:sort,symbols=letters,longest=8`.
    Raises: InputError for an unknown task, split or knob, a value that a knob cannot have, or more
    examples than there are.
    """
    task, *assignments = request.spec.removeprefix(PREFIX).split(",")
    split = request.split or "test"
    for kind, value, accepted in (("task", task, TASKS), ("split", split, SIZES)):
        if value not in accepted:
            raise unknown(kind, value, accepted)
    knobs = SequenceKnobs(**dict(map(_knob, assignments)))
    pairs = tuple(
        SymbolPair(" ".join(sequence), " ".join(TASKS[task](sequence)))
        for sequence in _draw_split(knobs, request.seed, split)
    )
    rows = request.first_rows(len(pairs))
    return SymbolSet(request.spec, split, request.seed, rows, pairs, SYMBOLS[knobs.symbols])


def _draw_split(knobs: SequenceKnobs, seed: int, split: str) -> list[list[str]]:
    """The different sequences of a split, in random order."""
    rng, sequences = np.random.default_rng(seed), dict[tuple[int, ...], None]()
    symbols, n_sequences = SYMBOLS[knobs.symbols], sum(SIZES.values())
    while len(sequences) < n_sequences:
        lengths = rng.integers(1, knobs.longest + 1, DRAW_SIZE)
        draws = rng.integers(len(symbols), size=(DRAW_SIZE, knobs.longest))
        for row, length in zip(draws.tolist(), lengths.tolist(), strict=True):
            sequences.setdefault(tuple(row[:length]))
    order = rng.permutation(n_sequences)
    ends = dict(zip(SIZES, np.cumsum(list(SIZES.values())).tolist(), strict=True))
    numbers, distinct = order[ends[split] - SIZES[split] : ends[split]], list(sequences)
    return [[symbols[place] for place in distinct[number]] for number in numbers]


def _knob(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    accepted = [field.name for field in fields(SequenceKnobs)]
    if name not in accepted:
        raise unknown("knob", name, accepted)
    try:
        return name, value if name == "symbols" else int(value)
    except ValueError:
        raise InputError(f"{value!r} for {name}; write, say, longest=8") from None


load = Loader(draw_sequences)
