"""How often every unit has every pair of a filler and a role, and what the fillers and the roles alone predict of that."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Shaped
from scipy.sparse import csr_array, diags_array, hstack

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

    @cached_property
    def beyond_bags(self) -> csr_array:
        """X̃ = X − b cᵀ / Σb of the pairs that occur: what a unit's bag of fillers b and its bag of roles c do not predict
        of its pairs if every assignment of these roles to these fillers is as likely. A unit of one token has but one
        assignment; where all are such, c is the mean of the roles over units instead.
        """
        n, total = len(self), np.asarray(self.fillers.sum(1)).ravel()
        bags, roles = self.fillers, self.roles
        if np.diff(self.pairs.indptr).max() <= 1:
            mean = np.bincount(self.role_of, np.asarray(self.pairs.sum(0)).ravel()) / max(total.sum(), 1)  # fmt: skip
            filler = csr_array((np.ones(len(self.filler_of)), (self.filler_of, np.arange(len(self.filler_of)))))  # fmt: skip
            return csr_array(self.pairs - bags @ (filler @ diags_array(mean[self.role_of])))
        n_bag, n_role = np.diff(bags.indptr), np.diff(roles.indptr)
        size = n_bag * n_role
        unit = np.repeat(np.arange(n), size)
        cell = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        at_bag, at_role = (of.indptr[unit] + part for of, part in zip((bags, roles), np.divmod(cell, n_role[unit]), strict=True))  # fmt: skip
        pair = self._number(bags.indices[at_bag], roles.indices[at_role])
        occurs = pair >= 0
        expected = (bags.data[at_bag] * roles.data[at_role] / total[unit])[occurs]
        return csr_array(self.pairs - csr_array((expected, (unit[occurs], pair[occurs])), self.pairs.shape))  # fmt: skip

    def _number(self, filler: np.ndarray, role: np.ndarray) -> Int[np.ndarray, " cell"]:
        """The pair of every filler and role, −1 where it does not occur."""
        n_roles = int(self.role_of.max()) + 1
        codes = self.filler_of * n_roles + self.role_of
        order = np.argsort(codes)
        at = np.minimum(np.searchsorted(codes[order], filler * n_roles + role), len(codes) - 1)
        return np.where(codes[order][at] == filler * n_roles + role, order[at], -1)


def _indicator(names: Int[np.ndarray, " pair"]) -> csr_array:
    return csr_array((np.ones(len(names)), (np.arange(len(names)), names)))


def times(counts: csr_array, factor: Float64[np.ndarray, " unit"]) -> csr_array:
    """The counts of every unit times its factor."""
    return csr_array(diags_array(factor) @ counts)


def beyond_each(columns: csr_array, others: csr_array) -> csr_array:
    """What every column has beyond a multiple of the other of its number."""
    own = np.asarray(columns.multiply(others).sum(0)).ravel()
    norm = np.asarray(others.power(2).sum(0)).ravel()
    return csr_array(columns - others @ diags_array(own / np.maximum(norm, 1e-300)))


def split_by_count(counts: csr_array, least: int, most: int) -> tuple[csr_array, csr_array]:
    """The (at most ``most``) columns that ``least`` units have, and the others that two units have."""
    units = np.bincount(counts.indices, minlength=counts.shape[1])  # pyright: ignore[reportOptionalSubscript]
    order = np.argsort(-units, kind="stable")
    frequent = np.sort(order[:most][units[order[:most]] >= least])
    rare = np.setdiff1d(np.flatnonzero(units >= 2), frequent)
    return csr_array(counts[:, frequent]), csr_array(counts[:, rare])


def beside(*columns: csr_array | np.ndarray) -> csr_array:
    """The columns side by side; an array is of one column or more."""
    parts = [of if isinstance(of, csr_array) else csr_array(of.reshape(len(of), -1)) for of in columns]  # fmt: skip
    return csr_array(hstack(parts, format="csr"))
