"""How often every unit has every pair of a filler and a role."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Shaped
from scipy.sparse import csr_array, diags_array, hstack

Numbers = Int[np.ndarray, " number"]
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
    counts: csr_array, min_units: int, max_columns: int
) -> tuple[csr_array, csr_array]:
    """The (at most ``max_columns``) columns that ``min_units`` units have, and the others that two units have."""
    units = np.bincount(counts.indices, minlength=counts.shape[1])  # pyright: ignore[reportOptionalSubscript]
    order = np.argsort(-units, kind="stable")
    frequent = np.sort(order[:max_columns][units[order[:max_columns]] >= min_units])
    rare = np.setdiff1d(np.flatnonzero(units >= 2), frequent)
    return csr_array(counts[:, frequent]), csr_array(counts[:, rare])


def join_columns(*columns: csr_array | np.ndarray) -> csr_array:
    """The columns side by side; an array is of one column or more."""
    matrices = [column if isinstance(column, csr_array) else csr_array(column.reshape(len(column), -1)) for column in columns]  # fmt: skip
    return csr_array(hstack(matrices, format="csr"))
