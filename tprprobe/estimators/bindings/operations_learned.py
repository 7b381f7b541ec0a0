"""Products of coordinates in a basis that is learned: V[f, r] = Re Σ_k f_k r_k b_k, with any vectors b_k as axes.

Real numbers make it the Hadamard product, complex ones circular convolution, and complex ones of size 1 for roles a
rotation of planes. The axes need not be known: they are unique if there are fewer of them than fillers.

Sources: Harshman 1970 (canonical polyadic decomposition, alternating least squares; Kruskal 1977 says where it is
unique), Leurgans, Ross and Abel 1993 (start by the common eigenvectors of the maps of roles).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float64, Inexact

from tprprobe.estimators.bindings.operations_base import (
    RIDGE,
    Array,
    Operation,
    RoleMatrix,
    Table,
    Weights,
    bind_all,
)

RANKS, MAX_RANK = (8, 16), 24  # axes that are tried
SWEEPS = 7  # of alternating least squares
STARTS = 4  # pairs of random sums of the maps of roles, whose eigenvectors are tried

Factor = Inexact[np.ndarray, "_symbol axis"]


class LearnedProduct(Operation):
    """The Hadamard product in a learned basis of so many axes; it goes on from where an earlier fit has ended."""

    title, is_basis_free, is_fitted = "Hadamard product", True, False
    is_complex: ClassVar[bool] = False
    readout_: Inexact[np.ndarray, "axis d"]

    def __init__(self, rank: int = 1):
        self.form, self.rank = f"learned basis, {rank}", rank

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        largest = min(shape[0] - 1, shape[2], MAX_RANK)
        return [cls(rank) for rank in sorted({*RANKS, largest}) if rank <= largest]

    def fit(self, table: Table, weights: Weights) -> "Operation":
        if not self.is_fitted:
            self._start(table, weights)
            self.is_fitted = True
        for _ in range(SWEEPS):
            self.fillers_ = self._solve(table, weights, self.roles_)
            self.roles_ = self.restrict(self._solve(table.swapaxes(0, 1), weights.T, self.fillers_))
            self._fit_readout(table, weights)
        return self

    def bind(self, filler: Array, role: Array) -> Array:
        return np.real((filler * role) @ self.readout_)

    def restrict(self, role: Factor) -> Factor:
        """The nearest coordinates that a role may have."""
        return role

    def _start(self, table: Table, weights: Weights) -> None:
        """The common eigenvectors of the maps of roles, from the sums of maps that leave the least error."""
        matrices = RoleMatrix(self.rank)
        matrices.fit(table, weights)
        sums = np.random.default_rng(0).normal(size=(STARTS, 2, len(matrices.roles_)))
        starts = [self._diagonalize(matrices, *np.tensordot(s, matrices.roles_, 1)) for s in sums]

        def error(start: tuple[Factor, Factor]) -> float:
            self.fillers_, self.roles_ = start
            self._fit_readout(table, weights)
            return float(np.sum(weights[..., None] * (table - bind_all(self)) ** 2))

        error(min(starts, key=error))

    def _diagonalize(
        self, matrices: RoleMatrix, above: Array, below: Array
    ) -> tuple[Factor, Factor]:
        """The coordinates of fillers and roles along the eigenvectors of the quotient of two maps."""
        axes = self._select_axes(*np.linalg.eig(above @ np.linalg.pinv(below)))
        maps = np.linalg.pinv(axes) @ matrices.roles_
        roles = np.linalg.svd(maps.swapaxes(0, 1), full_matrices=False)[0][..., 0].T
        return matrices.fillers_ @ axes, self.restrict(roles)

    def _select_axes(self, values: Array, axes: Array) -> Factor:
        """One axis of two that are conjugate, if axes are complex; else its real and its imaginary part."""
        if self.is_complex:
            return axes[:, np.imag(values) >= 0].astype(complex)
        return np.where(np.imag(values) < 0, np.imag(axes), np.real(axes))

    def _solve(self, table: Table, weights: Weights, factor: Factor) -> Factor:
        """The coordinates of the symbols of the first axis, for those of the second."""
        maps = self._to_real(factor[:, :, None] * self.readout_, 1)
        gram = np.tensordot(weights, maps @ maps.swapaxes(1, 2), 1)
        weighted = (table * weights[..., None]).reshape(len(table), -1)
        right = weighted @ maps.swapaxes(1, 2).reshape(-1, maps.shape[1])
        return self._from_real(_solve_ridge(gram, right[..., None])[..., 0], 1)

    def _fit_readout(self, table: Table, weights: Weights) -> None:
        """The axes, for coordinates of size 1."""
        for factor in (self.fillers_, self.roles_):
            factor /= np.maximum(np.sqrt(np.mean(abs(factor) ** 2, 0)), 1e-12)
        products = self._to_real(self.fillers_[:, None] * self.roles_, 2)
        flat, weight = products.reshape(-1, products.shape[2]), weights.reshape(-1, 1)
        cross = (flat * weight).T @ table.reshape(len(flat), -1)
        self.readout_ = self._from_real(_solve_ridge((flat * weight).T @ flat, cross), 0)

    def _to_real(self, numbers: Array, axis: int) -> Float64[np.ndarray, "..."]:
        """What the real and imaginary parts of coordinates are multiplied by."""
        parts = [np.real(numbers), -np.imag(numbers)]
        return np.concatenate(parts, axis) if self.is_complex else numbers

    def _from_real(self, parts: Float64[np.ndarray, "..."], axis: int) -> Array:
        if not self.is_complex:
            return parts
        real, imaginary = np.split(parts, 2, axis)
        return real + 1j * imaginary


class LearnedConvolution(LearnedProduct):
    """Circular convolution in a learned basis, or any product of complex coordinates."""

    title, is_complex = "circular convolution", True


class LearnedPlanes(LearnedConvolution):
    """Rotations of planes of a learned basis."""

    title = "rotation"

    def restrict(self, role: Factor) -> Factor:
        return role / np.maximum(abs(role), 1e-12)


def _solve_ridge(gram: Array, right: Array) -> Array:
    """The solution of normal equations, with a penalty in units of the mean square of what is regressed on."""
    size = gram.trace(axis1=-2, axis2=-1).mean() / gram.shape[-1]
    return np.linalg.solve(gram + max(RIDGE * size, 1e-300) * np.eye(gram.shape[-1]), right)
