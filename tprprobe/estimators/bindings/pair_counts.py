"""How often every unit has every pair of a filler and a role, and what its order adds to its bags: X̃ = X − E[X | bag of
fillers b, bag of roles c].

Where every order is equally likely, E[X | b, c] is b cᵀ / Σb. In real text fillers prefer roles (a full stop the last place), so
these products are multiplied by the preference of a filler for a role in units of one length, (observed + κ) / (expected + κ)
pairs, and scaled back to the bags (iterative proportional fitting, Deming & Stephan 1940). κ is 1 / the variance of preferences
beyond chance (empirical Bayes): where there are none it is so large that nothing changes.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Shaped
from scipy.sparse import csr_array, diags_array, hstack

OWN_PREFERENCE = 5  # units that a filler with preferences of its own has; rarer ones share theirs
N_SCALINGS = 6
LEAST_SPREAD = 1e-6  # of preferences

Numbers = Int[np.ndarray, " number"]
Values = Float64[np.ndarray, " cell"]
Bindings = Sequence[Sequence[tuple[Hashable, Hashable]]]  # of every unit: fillers with their roles


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts (or shares) of filler–role pairs in units.

    pairs      [unit, pair]: how often a unit has a pair, or which share of its tokens has it
    filler_of  the filler of every pair; ``role_of`` its role
    lengths    how many tokens a unit has; by default the sum of its counts
    """

    pairs: csr_array
    filler_of: Int[np.ndarray, " pair"]
    role_of: Int[np.ndarray, " pair"]
    n_tokens: Shaped[np.ndarray, " unit"] | None = None

    @classmethod
    def from_bindings(cls, bindings: Bindings) -> "PairCounts":
        """The counts of units that are lists of (filler, role)."""
        unit = np.repeat(np.arange(len(bindings)), [len(unit) for unit in bindings])
        tokens = [token for unit in bindings for token in unit]
        filler, role = (pd.factorize(pd.Series(column, dtype=object))[0] for column in zip(*tokens, strict=True))  # fmt: skip
        n_roles = role.max() + 1
        codes, pair = np.unique(filler * n_roles + role, return_inverse=True)
        counts = csr_array((np.ones(len(unit)), (unit, pair)), (len(bindings), len(codes)))
        return cls(counts, *np.divmod(codes, n_roles))

    def __len__(self) -> int:
        return self.pairs.indptr.size - 1

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All that distinguishes these counts from others."""
        x = self.pairs
        return x.data, x.indices, x.indptr, self.filler_of, self.role_of, self.lengths

    @cached_property
    def lengths(self) -> Float64[np.ndarray, " unit"]:
        sums = np.asarray(self.pairs.sum(1)).ravel() if self.n_tokens is None else self.n_tokens
        return np.maximum(sums, 1).astype(float)

    @property
    def has_shares(self) -> bool:
        """Whether pairs count as shares of a mean."""
        return bool(np.all(self.pairs.sum(1) < 1 + 1e-9) and self.lengths.max() > 1)

    @cached_property
    def fillers(self) -> csr_array:
        """[unit, filler]: the bag."""
        return self.pairs @ _indicator(self.filler_of)

    @cached_property
    def roles(self) -> csr_array:
        """[unit, role]"""
        return self.pairs @ _indicator(self.role_of)


def _indicator(names: Int[np.ndarray, " pair"]) -> csr_array:
    return csr_array((np.ones(len(names)), (np.arange(len(names)), names)))


def cross_entries(left: csr_array, right: csr_array) -> tuple[Numbers, Numbers, Numbers]:
    """Every entry of a unit's first row with every entry of its second: the unit, and the two entries."""
    n_right = np.diff(right.indptr)
    size = np.diff(left.indptr) * n_right
    unit = np.repeat(np.arange(len(size)), size)
    cell = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    in_left, in_right = np.divmod(cell, n_right[unit])
    return unit, left.indptr[unit] + in_left, right.indptr[unit] + in_right


def subtract_expected(counts: PairCounts) -> tuple[csr_array, float]:
    """X̃ [unit, pair] of the pairs that occur, and Σ x̃² of those that do not: a word that one unit has was expected at other places, too.

    A unit of one token has but one assignment; where all are such, roles count by their mean over units instead.
    """
    if np.diff(counts.pairs.indptr).max() <= 1:
        total = max(counts.pairs.sum(), 1)
        mean = np.bincount(counts.role_of, np.asarray(counts.pairs.sum(0)).ravel()) / total
        n_pairs = len(counts.filler_of)
        of_filler = csr_array((np.ones(n_pairs), (counts.filler_of, np.arange(n_pairs))))
        expected = counts.fillers @ (of_filler @ diags_array(mean[counts.role_of]))
        return csr_array(counts.pairs - expected), 0.0
    cells = Cells(counts)
    expected = cells.scale(cells.prefer(cells.multiply_bags()))
    occurs = cells.pair >= 0
    where = (cells.unit[occurs], cells.pair[occurs])
    residual = csr_array(counts.pairs - csr_array((expected[occurs], where), counts.pairs.shape))
    return residual, float((expected[~occurs] ** 2).sum())


class Cells:
    """Every filler with every role of its unit: the unit, its entries in the unit's bags, and its pair, −1 if it occurs nowhere."""

    def __init__(self, counts: PairCounts):
        fillers, roles, self.counts = counts.fillers, counts.roles, counts
        self.unit, self.at_filler, self.at_role = cross_entries(fillers, roles)
        width = 1 + int(counts.role_of.max())
        codes = fillers.indices[self.at_filler].astype(int) * width + roles.indices[self.at_role]
        self.pair = _find(counts.filler_of * width + counts.role_of, codes)

    def multiply_bags(self) -> Values:
        """b cᵀ / Σb"""
        fillers, roles = self.counts.fillers, self.counts.roles
        total = np.asarray(fillers.sum(1)).ravel()
        return fillers.data[self.at_filler] * roles.data[self.at_role] / total[self.unit]

    def prefer(self, expected: Values) -> Values:
        """The expected counts times the preferences of fillers for roles, by length."""
        lengths, size = np.unique(self.counts.lengths, return_inverse=True)
        fillers, roles = self.counts.fillers, self.counts.roles
        n_units = np.bincount(fillers.indices)
        filler_ids = np.where(n_units >= OWN_PREFERENCE, np.arange(1, 1 + len(n_units)), 0)
        key = filler_ids[fillers.indices[self.at_filler]] * len(lengths) + size[self.unit]
        key = key * (1 + int(self.counts.role_of.max())) + roles.indices[self.at_role]
        key = pd.factorize(key)[0]
        tokens = (self.counts.lengths[self.unit]) / np.asarray(fillers.sum(1)).ravel()[self.unit]
        count = expected * tokens  # shares of a mean count as tokens
        mean, variance = np.bincount(key, count), np.bincount(key, count * (1 - count).clip(0))
        observed = np.bincount(key, self._observe() * tokens)
        excess = (observed - mean) ** 2 - variance
        occurs = mean > 0  # a role may have the count 0 in a unit
        spread = (excess[occurs] / mean[occurs]).sum() / max(mean.sum(), 1e-300)
        prior = 1 / max(spread, LEAST_SPREAD)
        return expected * ((observed + prior) / (mean + prior))[key]

    def _observe(self) -> Values:
        """How often the unit has the pair."""
        pairs, n_pairs = self.counts.pairs, len(self.counts.filler_of)
        unit = np.repeat(np.arange(len(self.counts)), np.diff(pairs.indptr))
        entry = _find(unit * n_pairs + pairs.indices, self.unit * n_pairs + self.pair)
        return np.where((self.pair >= 0) & (entry >= 0), pairs.data[entry], 0.0)

    def scale(self, expected: Values) -> Values:
        """The expected counts, scaled to the bags of fillers and of roles that units have."""
        bags = ((self.counts.fillers, self.at_filler), (self.counts.roles, self.at_role))
        for bag, entry in bags * N_SCALINGS:
            sums = np.bincount(entry, expected, len(bag.data))
            expected = expected * (bag.data / np.maximum(sums, 1e-300))[entry]
        return expected


def _find(codes: Int[np.ndarray, " code"], sought_codes: Numbers) -> Numbers:
    """The number of every sought_codes code, −1 where there is none."""
    order = np.argsort(codes)
    rows = order[np.minimum(np.searchsorted(codes, sought_codes, sorter=order), len(codes) - 1)]
    return np.where(codes[rows] == sought_codes, rows, -1)


def cooccur(counts: csr_array) -> csr_array:
    """[unit, pair of columns]: 1 if the unit has both, of pairs that two units have."""
    unit, entry, partner = cross_entries(counts, counts)
    columns = counts.indices.astype(int)
    is_pair = columns[entry] < columns[partner]
    unit, codes = unit[is_pair], (columns[entry] * counts.shape[1] + columns[partner])[is_pair]  # pyright: ignore[reportOptionalSubscript]
    _, pair, n_units = np.unique(codes, return_inverse=True, return_counts=True)
    is_shared = n_units[pair] >= 2
    pair = np.unique(pair[is_shared], return_inverse=True)[1]
    shape = (len(counts.indptr) - 1, pair.max(initial=-1) + 1)
    return csr_array((np.ones(len(pair)), (unit[is_shared], pair)), shape)


def times(counts: csr_array, factor: Float64[np.ndarray, " unit"]) -> csr_array:
    """The counts of every unit times its factor."""
    return csr_array(diags_array(factor) @ counts)


def beyond_each(columns: csr_array, controls: csr_array) -> csr_array:
    """What every column has beyond a multiple of the control of its number."""
    product = np.asarray(columns.multiply(controls).sum(0)).ravel()
    norm = np.asarray(controls.power(2).sum(0)).ravel()
    return csr_array(columns - controls @ diags_array(product / np.maximum(norm, 1e-300)))


def divide_by_length(
    counts: csr_array, lengths: Float64[np.ndarray, " unit"], units_per_bin: int, max_bins: int
) -> csr_array:
    """Every column divided by bins of length, at most ``max_bins``, with ``units_per_bin`` units each on average."""
    entries = counts.tocoo()
    table = pd.DataFrame({"column": entries.col, "length": lengths[entries.row]})
    by_column = table.groupby("column")["length"]
    n_bins = (by_column.transform("size") // units_per_bin).clip(1, max_bins)
    rank = by_column.rank(pct=True)  # of one length the same, below 1 on average
    bin_id = np.minimum(rank * n_bins, n_bins - 1).astype(int)
    column = np.unique(entries.col * max_bins + bin_id, return_inverse=True)[1]
    shape = (len(lengths), column.max(initial=-1) + 1)
    return csr_array((entries.data, (entries.row, column)), shape)


def split_by_count(
    counts: csr_array, min_units: int, max_columns: int, min_rare: int = 2
) -> tuple[csr_array, csr_array]:
    """The (at most ``max_columns``) columns that ``min_units`` units have, and the others that ``min_rare`` units have."""
    units = np.bincount(counts.indices, minlength=counts.shape[1])  # pyright: ignore[reportOptionalSubscript]
    order = np.argsort(-units, kind="stable")
    frequent = np.sort(order[:max_columns][units[order[:max_columns]] >= min_units])
    rare = np.setdiff1d(np.flatnonzero(units >= min_rare), frequent)
    return csr_array(counts[:, frequent]), csr_array(counts[:, rare])


def join_columns(*columns: csr_array | np.ndarray) -> csr_array:
    """The columns side by side; an array is of one column or more."""
    matrices = [column if isinstance(column, csr_array) else csr_array(column.reshape(len(column), -1)) for column in columns]  # fmt: skip
    return csr_array(hstack(matrices, format="csr"))
