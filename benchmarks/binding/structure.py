"""What vectors are of: sequences of fillers at roles. This, and edits, is all that a method sees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

Symbols = tuple[str, ...]
Scheme = Callable[[Symbols], list[str]]
Pair = tuple[str, str]  # filler, role
Array = np.ndarray


@dataclass(frozen=True)
class Structure:
    """Sequences, the function that gives a sequence's fillers their roles, and whether a vector is a sum over
    fillers (counts) or a mean (shares).
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
        occurring = {pair for pairs in self.pairs for pair in pairs}
        return {pair: i for i, pair in enumerate(sorted(occurring))}

    def names(self, side: int) -> list[str]:
        """The fillers (0) or roles (1) that occur."""
        return sorted({pair[side] for pair in self.known})

    def count(self, columns: Mapping[Pair, int]) -> Array:
        """How often (or as which share) every sequence has every numbered pair: [sequence, pair]."""
        counts = np.zeros((len(self.pairs), len(columns)))
        for row, pairs in zip(counts, self.pairs, strict=True):
            for pair in pairs:
                if (column := columns.get(pair)) is not None:
                    row[column] += 1 / len(pairs) if self.shares else 1
        return counts

    def of(self, sequences: Sequence[Symbols]) -> "Structure":
        """Other sequences with the same kind of roles."""
        return replace(self, sequences=tuple(sequences))

    def rows(self, indices: Array) -> "Structure":
        """The sequences of these numbers."""
        return self.of([self.sequences[i] for i in indices])


@dataclass(frozen=True)
class Swaps:
    """Edits: in every sequence the filler at one place is replaced.

    states, targets  the vectors before, and the model's after the symbol was replaced: [edit, d]
    donors           vectors of other sequences, as long, that have the new filler at its role: [edit, d]
    """

    states: Array
    before: Structure
    after: Structure
    places: Array
    donors: Array
    targets: Array

    @cached_property
    def pairs(self) -> list[tuple[Pair, Pair]]:
        """The pair that every edit removes, and the pair that it adds."""
        triples = zip(self.before.pairs, self.after.pairs, self.places, strict=True)
        return [(before[place], after[place]) for before, after, place in triples]

    def edit(self, change: Callable[[int, Pair, Pair], Array | None]) -> Array:
        """The vectors with a change each, NaN where it is None."""
        edited = np.full_like(self.states, np.nan)
        for i, (before, after) in enumerate(self.pairs):
            if (moved := change(i, before, after)) is not None:
                edited[i] = self.states[i] + moved
        return edited

    def by(self, scheme: Scheme) -> "Swaps":
        """These edits, with the roles replaced by those of ``scheme``."""
        before, after = (replace(s, scheme=scheme) for s in (self.before, self.after))
        return replace(self, before=before, after=after)

    def take(self, indices: Array) -> "Swaps":
        """Some of the edits."""
        names = ("states", "places", "donors", "targets")
        arrays: dict[str, Any] = {name: getattr(self, name)[indices] for name in names}
        arrays |= {name: getattr(self, name).rows(indices) for name in ("before", "after")}
        return Swaps(**arrays)


@dataclass(frozen=True)
class Fitted:
    """What a method has learned.

    predict  from vectors and their structure: vectors, or the filler of every pair; None if it predicts neither
    swap     the vectors after edits, NaN where a pair is unknown; None if it edits nothing
    claims   whether it says by a test of its own that fillers are bound to roles
    """

    predict: Callable[[Array, Structure], Any] | None
    swap: Callable[[Swaps], Array] | None
    parameters: int
    claims: bool | None = None


class Method(Protocol):
    """A file in ``methods``; it may have ``name_roles(states, structure)``, the scheme that it finds by itself.

    TITLE    its name in tables
    PRIMARY  what it is judged by: predicted ``states`` or ``fillers``, ``swaps``, or nothing if it claims nothing
    GRID     values of settings, of which the validation subject chooses
    CANNOT   measures that it cannot have, with the reason (MAKES_VECTORS, READS_FILLERS and others)
    """

    TITLE: str
    PRIMARY: str
    GRID: Mapping[str, Sequence[Any]]
    CANNOT: Mapping[str, str]

    def fit(
        self, states: Array, structure: Structure, swaps: Swaps, seed: int, **setting: Any
    ) -> Fitted:
        """What is learned of vectors; swaps are of these vectors, for methods that train on them."""
        ...


MAKES_VECTORS = dict.fromkeys(("accuracy", "accuracy_withheld"), "makes vectors, reads no fillers")
READS_FILLERS = dict.fromkeys(("r2", "r2_withheld"), "reads fillers, makes no vectors")


def standardize(states: Array) -> tuple[Array, Array, float]:
    """Vectors less their mean and of one scale, the mean, and the scale."""
    mean, scale = states.mean(0), float(states.std()) + 1e-12
    return (states - mean) / scale, mean, scale
