"""Pairs of a filler and a role: which occur, how often every unit has each, and some that are held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

MIN_UNITS = 5  # that have a pair which may be held out
MAX_TOUCHED = 0.5  # of the units may have a held-out pair

Codes = Int[np.ndarray, " token"]
Occurrences = tuple[Codes, Codes]  # filler and role of every token, −1: none
Flags = Bool[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs by the numbers of their filler and role; sorted by filler, then by role."""

    fillers: pd.Index
    roles: pd.Index
    filler_of: Int[np.ndarray, " pair"]
    role_of: Int[np.ndarray, " pair"]

    @classmethod
    def occurring(
        cls, fillers: pd.Index, roles: pd.Index, occurrences: Sequence[Occurrences]
    ) -> "Pairs":
        """The pairs that occur."""
        codes = np.unique(np.concatenate([_encode(o, len(roles)) for o in occurrences]))
        return cls(fillers, roles, *np.divmod(codes[codes >= 0], len(roles)))

    @classmethod
    def product(cls, fillers: pd.Index, roles: pd.Index) -> "Pairs":
        """Every filler at every role."""
        return cls(fillers, roles, *np.divmod(np.arange(len(fillers) * len(roles)), len(roles)))

    def __len__(self) -> int:
        return len(self.filler_of)

    @property
    def codes(self) -> Int[np.ndarray, " pair"]:
        """The index of every pair in the table of all fillers by all roles."""
        return self.filler_of * len(self.roles) + self.role_of

    def take(self, ids: Int[np.ndarray, " subset"]) -> "Pairs":
        """Some of the pairs, of the same fillers and roles."""
        return replace(self, filler_of=self.filler_of[ids], role_of=self.role_of[ids])

    def lookup(
        self, codes: Int[np.ndarray, " code"]
    ) -> tuple[Bool[np.ndarray, " code"], Int[np.ndarray, " code"]]:
        """Which codes are of these pairs, and the pair of each (any where it is of none)."""
        index = np.searchsorted(self.codes, codes)
        return np.append(self.codes, -2)[index] == codes, index


def starts_of(pairs_of_parts: Sequence[Pairs]) -> list[int]:
    """Where the pairs of every part begin among those of all parts, and how many these are."""
    return np.cumsum([0, *map(len, pairs_of_parts)]).tolist()


def find_pairs(
    fillers: Sequence[str] | np.ndarray, terms: Sequence[Any]
) -> tuple[Pairs, list[Occurrences]]:
    """The pairs that tokens have by any term of a scheme (a categorical), and those of every token by term."""
    filler, names = pd.factorize(np.asarray(fillers, object), sort=True)
    starts = np.cumsum([0, *(len(term.categories) for term in terms)]).tolist()
    roles = [np.where(t.codes < 0, -1, t.codes + s) for t, s in zip(terms, starts, strict=False)]
    occurrences = [(filler, role.astype(int)) for role in roles]
    role_names = pd.Index([name for term in terms for name in term.categories], dtype=object)
    return Pairs.occurring(pd.Index(names), role_names, occurrences), occurrences


def count_pairs(
    membership: csr_array, pairs: Pairs, occurrences: Sequence[Occurrences]
) -> csr_array:
    """X [unit, pair]: how often the tokens of a unit have every pair."""
    counts = csr_array((len(occurrences[0][0]), len(pairs)))
    for occurrence in occurrences:
        is_known, column = pairs.lookup(_encode(occurrence, len(pairs.roles)))
        tokens = np.flatnonzero(is_known)
        cells = (np.ones(len(tokens)), (tokens, column[tokens]))
        counts = counts + csr_array(cells, counts.shape)
    return csr_array(membership @ counts)


def lookup_names(names: pd.Index, values: Sequence[object] | np.ndarray) -> Codes:
    """The number of every value among names, −1 for an unknown one."""
    return names.get_indexer(pd.Index(np.asarray(values, object)))


def _encode(occurrence: Occurrences, n_roles: int) -> Codes:
    filler, role = occurrence
    return np.where((filler < 0) | (role < 0), -1, filler * n_roles + role)


def hold_out_pairs(
    counts: csr_array,
    pairs: Pairs,
    share: float,
    rng: np.random.Generator,
    max_touched: float = MAX_TOUCHED,
) -> Bool[np.ndarray, " pair"]:
    """A random share of the pairs, as flags; fillers and roles keep half of theirs, and few units have one."""
    by_pair = counts.tocsc()
    n_units = np.diff(by_pair.indptr)
    touched = np.zeros(len(counts.indptr) - 1, bool)

    def touch(pair: Any) -> bool:
        units = by_pair.indices[by_pair.indptr[pair] : by_pair.indptr[pair + 1]]
        is_free = touched.sum() + np.sum(~touched[units]) <= max_touched * len(touched)
        touched[units] |= is_free
        return bool(is_free)

    order = rng.permutation(np.flatnonzero(n_units >= MIN_UNITS))
    n_pairs = round(share * np.sum(n_units > 0))
    return draw_pairs(order, (pairs.filler_of, pairs.role_of), n_units > 0, n_pairs, touch)


def draw_pairs(
    order: Int[np.ndarray, " drawn"],
    symbols: Sequence[Int[np.ndarray, " pair"]],
    occurs: Bool[np.ndarray, " pair"],
    n_pairs: float,
    accept: Callable[[Any], bool] = lambda _: True,
) -> Bool[np.ndarray, " pair"]:
    """The first pairs in an order, as flags, without which every filler and role has half of its pairs that occur."""
    remaining = [np.bincount(ids[occurs], minlength=1 + ids.max(initial=0)) for ids in symbols]
    minimum = [np.ceil(n / 2) for n in remaining]
    is_drawn = np.zeros(len(symbols[0]), bool)
    for pair in order:
        if is_drawn.sum() >= n_pairs:
            break
        cells = [(n, m, ids[pair]) for n, m, ids in zip(remaining, minimum, symbols, strict=True)]
        if all(n[i] > m[i] for n, m, i in cells) and accept(pair):
            is_drawn[pair] = True
            for n, _, i in cells:
                n[i] -= 1
    return is_drawn


def first_pair(counts: csr_array, pairs: Bool[np.ndarray, " pair"]) -> Int[np.ndarray, " unit"]:
    """The first of the pairs that every unit has, numbered among them; -1 for none."""
    chosen = csr_array(counts[:, np.flatnonzero(pairs)])
    units, pair_ids = chosen.nonzero()
    first = np.full(len(counts.indptr) - 1, -1)
    first[units[::-1]] = pair_ids[::-1]
    return first


def select_units(counts: csr_array, is_selected: Flags) -> csr_array:
    """The counts of some units."""
    return csr_array(counts[np.flatnonzero(is_selected)])
