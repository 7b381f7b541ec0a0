"""Pair counts that every checkpoint of the film shares, and nested fits to states by them: a few small solves each.

States are mean + a_f + c_r + W (f ⊗ r). Penalties and ranks are fixed for all checkpoints, f and r are the leading
directions of the free table of pairs. Units with a withheld pair are not fitted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.sparse import csr_array, hstack

MAIN, PAIR = 0.3, 3.0  # penalties of main effects and of pairs, in counts
Numbers = Int[np.ndarray, " token"]


@dataclass(frozen=True)
class States:
    """What a fit gives: vectors of fillers and of roles, and the table of their interactions."""

    fillers: Float64[np.ndarray, "filler d_model"]
    pairs: Float64[np.ndarray, "pair d_model"]
    errors: Float64[np.ndarray, "unit 4"]  # of the mean, the bag, with places, with bindings


@dataclass(frozen=True, eq=False)
class PairDesign:
    """Which filler at which role every token is, of which unit; units of one ``group`` are tested together."""

    filler: Numbers
    role: Numbers
    unit: Numbers
    group: Int[np.ndarray, " unit"]
    tested: Bool[np.ndarray, " unit"]
    withheld: Bool[np.ndarray, " pair"]
    rank: tuple[int, int]

    @property
    def sizes(self) -> tuple[int, int]:
        n_fillers = int(self.filler.max()) + 1
        return n_fillers, len(self.withheld) // n_fillers

    def _counts(self, codes: Numbers, n: int) -> csr_array:
        return csr_array((np.ones(len(codes)), (self.unit, codes)), (len(self.group), n))

    @cached_property
    def pairs(self) -> csr_array:
        return self._counts(self.filler * self.sizes[1] + self.role, len(self.withheld))

    @cached_property
    def has_withheld(self) -> Bool[np.ndarray, " unit"]:
        return self.pairs @ self.withheld.astype(float) > 0

    @cached_property
    def fitted(self) -> Bool[np.ndarray, " unit"]:
        return ~self.tested & ~self.has_withheld

    @cached_property
    def mains(self) -> list[csr_array]:
        """Counts of fillers, and of fillers and roles."""
        both = [
            self._counts(c, n) for c, n in zip((self.filler, self.role), self.sizes, strict=True)
        ]
        return [both[0], csr_array(hstack(both))]

    @cached_property
    def _solvers(self) -> list[Float64[np.ndarray, "term unit"]]:
        """What turns the fitted states into main effects, of either design of them."""
        of = [each[self.fitted].toarray() for each in self.mains]
        return [np.linalg.solve(x.T @ x + MAIN * np.eye(x.shape[1]), x.T) for x in of]

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """XᵀX of the fitted units' pairs, and its inverse under the penalty."""
        x = self.pairs[self.fitted]
        g = (x.T @ x).toarray()
        return g, np.linalg.inv(g + PAIR * np.eye(len(g)))

    def fit(self, states: Float64[np.ndarray, "unit d_model"]) -> States:
        """The nested fits to the states of fitted units, and their squared errors in all units."""
        rest = states - states[self.fitted].mean(0)
        errors, left, effects = [np.sum(rest**2, 1)], rest, rest[:0]
        for main, solver in zip(self.mains, self._solvers, strict=True):
            effects = solver @ rest[self.fitted]
            left = rest - main @ effects
            errors.append(np.sum(left**2, 1))
        table = self._interactions(left)
        errors.append(np.sum((left - self.pairs @ table) ** 2, 1))
        return States(effects[: self.sizes[0]], table, np.stack(errors, 1))

    def _interactions(self, left: Float64[np.ndarray, "unit d_model"]) -> np.ndarray:
        """W (f ⊗ r) of every pair: W by ridge, f and r from the free table."""
        c = self.pairs[self.fitted].T @ left[self.fitted]
        g, inverse = self._moments
        free = (inverse @ c).reshape(*self.sizes, -1)
        f, r = (
            np.linalg.svd(each.reshape(len(each), -1), full_matrices=False)[0][:, :k]
            for each, k in zip((free, free.swapaxes(0, 1)), self.rank, strict=True)
        )
        z = np.einsum("aj,bk->abjk", f, r).reshape(len(g), -1)
        return z @ np.linalg.solve(z.T @ g @ z + PAIR * np.eye(z.shape[1]), z.T @ c)


def gain(
    design: PairDesign, fit: States, step: int, of: Bool[np.ndarray, " unit"]
) -> tuple[float, float, float]:
    """The gain in R² of a step over the one below on tested units, with its 95 % interval over groups."""
    rows = design.tested & of
    groups = np.unique(design.group[rows], return_inverse=True)[1]
    lost, whole = (
        np.bincount(groups, each[rows])
        for each in (fit.errors[:, step - 1] - fit.errors[:, step], fit.errors[:, 0])
    )
    value = lost.sum() / max(whole.sum(), 1e-30)
    half = 1.96 * np.std(lost - value * whole) * len(lost) ** 0.5 / max(whole.sum(), 1e-30)
    return float(value), float(value - half), float(value + half)
