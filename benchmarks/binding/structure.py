"""What vectors are of: sequences of fillers at roles. This, and swaps, is all that a method sees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

Symbols = tuple[str, ...]
Scheme = Callable[[Symbols], list[str]]
Pair = tuple[str, str]
Array = np.ndarray


@dataclass(frozen=True)
class Structure:
    """Sequences, a function that gives the role of every filler of a sequence, and whether a vector is a
    sum over fillers (counts) or a mean (shares).
    """

    sequences: tuple[Symbols, ...]
    scheme: Scheme
    shares: bool = False

    @cached_property
    def pairs(self) -> list[list[Pair]]:
        """The (filler, role) pairs of every sequence."""
        return [list(zip(s, self.scheme(s), strict=True)) for s in self.sequences]

    @cached_property
    def known(self) -> dict[Pair, int]:
        """The number of every pair that occurs."""
        return {pair: i for i, pair in enumerate(sorted({p for of in self.pairs for p in of}))}

    def count(
        self, known: Mapping[Any, int], by: Callable[[Pair], Any] = lambda pair: pair
    ) -> Array:
        """How often (or which share of) every sequence has what is numbered: [sequence, number]."""
        found = np.zeros((len(self.pairs), len(known)))
        for row, pairs in zip(found, self.pairs, strict=True):
            for pair in pairs:
                if (at := known.get(by(pair))) is not None:
                    row[at] += 1 / len(pairs) if self.shares else 1
        return found

    def of(self, sequences: Sequence[Symbols]) -> "Structure":
        """Other sequences of the same roles."""
        return replace(self, sequences=tuple(sequences))

    def rows(self, at: Array) -> "Structure":
        """The sequences at these numbers."""
        return self.of([self.sequences[i] for i in at])

    def by(self, scheme: Scheme) -> "Structure":
        """The same sequences with other roles."""
        return replace(self, scheme=scheme)


@dataclass(frozen=True)
class Swaps:
    """Edits: one filler of a sequence is replaced.

    states   the vectors before, [edit, d]; ``targets`` are those of the model after the symbol was replaced
    places   which filler, [edit]
    donors   the vectors of other sequences, as long, that have the new filler at its role, [edit, d]
    """

    states: Array
    before: Structure
    after: Structure
    places: Array
    donors: Array
    targets: Array

    def pair(self, edit: int) -> tuple[Pair, Pair]:
        """The pair that leaves and the pair that comes."""
        place = self.places[edit]
        return self.before.pairs[edit][place], self.after.pairs[edit][place]

    def by(self, scheme: Scheme) -> "Swaps":
        """The same edits with other roles."""
        return replace(self, before=self.before.by(scheme), after=self.after.by(scheme))


class Fitted(Protocol):
    """What a method has learnt. It may also have ``claims``: whether it says by itself that roles are bound."""

    parameters: int

    def predict(self, states: Array, structure: Structure) -> Any:
        """Vectors [sequence, d], or the filler of every pair of every sequence; None if it predicts neither."""
        ...

    def swap(self, swaps: Swaps) -> Array | None:
        """The vectors after edits, NaN where it does not know the pair; None if it edits nothing."""
        ...


class Method(Protocol):
    """A file in ``methods``.

    TITLE    its name in tables
    PRIMARY  what it is judged by: its predicted ``states`` or ``fillers``, or its ``swaps``; ``""`` if it claims nothing
    GRID     values of hyperparameters, of which the validation subject chooses
    CANNOT   measures that it cannot have, with the reason
    It may have ``name_roles(states, structure)``, the scheme that it finds by itself.
    """

    TITLE: ClassVar[str]
    PRIMARY: ClassVar[str]
    GRID: ClassVar[Mapping[str, Sequence[Any]]]
    CANNOT: ClassVar[Mapping[str, str]]

    def fit(
        self, states: Array, structure: Structure, swaps: Swaps, seed: int, **chosen: Any
    ) -> Fitted:
        """What is learnt of vectors; swaps are of these vectors, for methods that train on them."""
        ...
