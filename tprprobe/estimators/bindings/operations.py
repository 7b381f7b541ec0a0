"""Binding operations: what a table of vectors V[f, r] is made of, a vector a filler and a vector a role.

An operation is an object with ``bind(filler, role)``, vectors to vectors, and ``fit(table, weights)``, which
leaves the vectors as ``fillers_`` and ``roles_``, a row a symbol. It sees arrays alone. A pair of weight 0 is
unseen: ``bind`` of its two vectors completes the table. Packages add operations under ``tprprobe.operations``.

Products in a basis that is learned are V[f, r] = Re Σ_k f_k r_k b_k, with any vectors b_k as axes: real numbers make it the
Hadamard product, complex ones circular convolution, and complex ones of size 1 for roles a rotation of planes. The axes
are unique if there are fewer of them than fillers.

Sources: Smolensky 1990 (tensor product), Gayler 1998 (Hadamard product), Plate 1995 (circular convolution),
Su et al. 2021 (rotation of planes), Schönemann 1966 (orthogonal maps), Tucker 1966 (outer product of a rank),
Harshman 1970 (canonical polyadic decomposition, alternating least squares; Kruskal 1977 says where it is unique),
Leurgans, Ross and Abel 1993 (start by the common eigenvectors of the maps of roles).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float64, Inexact

from tprprobe.estimators.bindings.operations_base import (
    RIDGE,
    Array,
    Operation,
    Table,
    Weights,
    bind_all,
    weighted_mean,
)
from tprprobe.estimators.bindings.operations_base import Additive as Additive

FILLINGS = 5  # of the unseen part of a table
RANKS = (1, 2, 3, 4, 6, 8, 12, 16)
SWEEPS = 20  # of alternating least squares
N_AXES, MAX_AXES = (8, 16), 24  # of a learned basis, that are tried
LEARNED_SWEEPS = 7  # of alternating least squares in a learned basis
STARTS = 4  # pairs of random sums of the maps of roles, whose eigenvectors are tried

Factor = Inexact[np.ndarray, "_symbol axis"]


class RoleMatrix(Operation):
    """A_r f, a matrix a role: fillers have few dimensions, so that the table has this rank. The unseen part of the table is
    filled by the fit again and again, from where an earlier fit has ended.

    Source: Dempster, Laird and Rubin 1977 (expectation–maximization).
    """

    title, is_basis_free, is_fitted = "matrix a role", True, False

    def __init__(self, rank: int = 1):
        self.form, self.rank = str(rank), rank

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        return [cls(rank) for rank in RANKS if rank < shape[0]]

    def fit(self, table: Table, weights: Weights) -> "Operation":
        share = weights[..., None] / max(weights.max(), 1e-12)
        completed = share * table + (1 - share) * (bind_all(self) if self.is_fitted else 0)
        for _ in range(FILLINGS):
            self.factorize(completed)
            self.is_fitted = True
            completed = share * table + (1 - share) * bind_all(self)
        return self

    def factorize(self, table: Table) -> None:
        """Sets the vectors of fillers and of roles to those of a complete table."""
        self.fillers_ = left_singular_vectors(table.reshape(len(table), -1))[:, : self.rank]
        self.roles_ = np.tensordot(self.fillers_, table, (0, 0)).swapaxes(0, 1)

    def bind(self, filler: Array, role: Array) -> Array:
        return (filler[..., None, :] @ role)[..., 0, :]


class OuterProduct(RoleMatrix):
    """W (f ⊗ r), f and r of few dimensions; r has fewer than there are roles, or it would be a matrix a role."""

    title = "outer product"

    def __init__(self, filler_rank: int = 1, role_rank: int = 1):
        super().__init__(filler_rank)
        self.form, self.role_rank = f"{filler_rank}×{role_rank}", role_rank

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        role_ranks = [rank for rank in RANKS if rank < shape[1]]
        return [cls(m * r, r) for r in role_ranks for m in (1, 2, 4) if m * r < shape[0]]

    @classmethod
    def is_case_of(cls, other: type[Operation]) -> bool:
        return issubclass(other, RoleMatrix | Hadamard)  # learned, an axis for every product

    def factorize(self, table: Table) -> None:
        super().factorize(table)
        maps = self.roles_
        self.roles_ = left_singular_vectors(maps.reshape(len(maps), -1))[:, : self.role_rank]
        self.readout_ = np.tensordot(self.roles_, maps, (0, 0)).swapaxes(0, 1)

    def bind(self, filler: Array, role: Array) -> Array:
        return (filler[..., None, :] @ np.tensordot(role, self.readout_, (-1, 1)))[..., 0, :]


class Rotation(Operation):
    """R_r f, any orthogonal map a role: orthogonal Procrustes by turns with the fillers; or rotations of planes."""

    title, is_basis_free, form = "rotation", True, "any"

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        planes = [] if shape[2] % 2 else [PlaneRotation(), PlaneRotation(halves=True)]
        return [cls(), *planes, *LearnedPlanes.candidates(shape)]

    @classmethod
    def is_case_of(cls, other: type[Operation]) -> bool:
        return other is Convolution  # of planes, with numbers of size 1

    def fit(self, table: Table, weights: Weights) -> "Operation":
        weighted = table * weights[..., None]
        self.fillers_ = weighted[:, weights.sum(0).argmax()]
        for _ in range(SWEEPS):
            u, _, v = np.linalg.svd(self.fillers_.T @ weighted.swapaxes(0, 1))
            self.roles_ = u @ v
            turned = table.swapaxes(0, 1) @ self.roles_.swapaxes(1, 2)
            self.fillers_ = weighted_mean(turned.swapaxes(0, 1), weights, 1)
        return self

    def bind(self, filler: Array, role: Array) -> Array:
        return (filler[..., None, :] @ role)[..., 0, :]


class LearnedProduct(Operation):
    """The Hadamard product in a learned basis of so many axes; it goes on from where an earlier fit has ended."""

    title, is_basis_free, is_fitted = "Hadamard product", True, False
    is_complex: ClassVar[bool] = False
    readout_: Inexact[np.ndarray, "axis d"]

    def __init__(self, rank: int = 1):
        self.form, self.rank = f"learned basis, {rank}", rank

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        largest = min(shape[0] - 1, shape[2], MAX_AXES)
        return [cls(rank) for rank in sorted({*N_AXES, largest}) if rank <= largest]

    def fit(self, table: Table, weights: Weights) -> "Operation":
        if not self.is_fitted:
            self._start(table, weights)
            self.is_fitted = True
        for _ in range(LEARNED_SWEEPS):
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


class Hadamard(Operation):
    """f ⊙ r, coordinate by coordinate: a matrix of rank one for every coordinate of the table."""

    title, is_basis_free = "Hadamard product", False
    learned: ClassVar[type[LearnedProduct]] = LearnedProduct  # the same in a learned basis

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        return [cls(), *cls.learned.candidates(shape)]

    def fit(self, table: Table, weights: Weights) -> "Operation":
        z = self.to_basis(table)
        filled = np.where(weights[..., None] > 0, z, 0)
        by_coordinate = filled.transpose(2, 0, 1)
        gram = by_coordinate.conj().swapaxes(1, 2) @ by_coordinate
        role = np.linalg.eigh(gram)[1][:, :, -1].T.conj()  # of the largest eigenvalue: [role, d]
        role = self.restrict(role * np.sqrt(len(role)))
        filler = _regress(z, role[None], weights, 1)
        for _ in range(SWEEPS):
            role = self.restrict(_regress(z, filler[:, None], weights, 0))
            filler = _regress(z, role[None], weights, 1)
        self.fillers_, self.roles_ = self.from_basis(filler), self.from_basis(role)
        return self

    def bind(self, filler: Array, role: Array) -> Array:
        return self.from_basis(self.to_basis(filler) * self.to_basis(role))

    def to_basis(self, vectors: Array) -> Array:
        """Vectors in the basis in which coordinates are multiplied."""
        return vectors

    def from_basis(self, coordinates: Array) -> Array:
        return coordinates

    def restrict(self, role: Array) -> Array:
        """The nearest coordinates that a role may have."""
        return role


class Convolution(Hadamard):
    """f ⊛ r, circular convolution (holographic reduced representations): the Hadamard product of Fourier transforms."""

    title, learned = "circular convolution", LearnedConvolution

    def to_basis(self, vectors: Array) -> Array:
        self.width = vectors.shape[-1]
        return np.fft.rfft(vectors)

    def from_basis(self, coordinates: Array) -> Array:
        return np.fft.irfft(coordinates, self.width)


class PlaneRotation(Hadamard):
    """A rotation of every plane of two coordinates by an angle of the role, as of RoPE: complex factors of size 1."""

    title = "rotation"

    def __init__(self, halves: bool = False):
        self.form = "planes of halves" if halves else "planes of neighbors"
        self.halves = (
            halves  # whether planes are of the coordinates k and k + d/2, not 2k and 2k + 1
        )

    def to_basis(self, vectors: Array) -> Array:
        pairs = vectors.reshape(*vectors.shape[:-1], *((2, -1) if self.halves else (-1, 2)))
        axis = -2 if self.halves else -1
        return pairs.take(0, axis) + 1j * pairs.take(1, axis)

    def from_basis(self, coordinates: Array) -> Array:
        pairs = np.stack([np.real(coordinates), np.imag(coordinates)], -2 if self.halves else -1)
        return pairs.reshape(*coordinates.shape[:-1], -1)

    def restrict(self, role: Array) -> Array:
        return role / np.maximum(abs(role), 1e-12)


def left_singular_vectors(matrix: Array) -> Array:
    """The axes of rows of largest singular values, by the Gram matrix."""
    return np.linalg.eigh(matrix @ matrix.T)[1][:, ::-1]


def _regress(table: Array, factor: Array, weights: Weights, axis: int) -> Array:
    """The multiples of a factor nearest a table along an axis, coordinate by coordinate, by weighted ridge."""
    sums = "frd,fr->rd" if axis == 0 else "frd,fr->fd"
    size = abs(factor) ** 2
    penalty = RIDGE * size.mean((0, 1)) * weights.sum(axis).mean()
    norms = np.einsum(sums, np.broadcast_to(size, table.shape), weights)
    return np.einsum(sums, table * factor.conj(), weights) / np.maximum(norms + penalty, 1e-300)


def _solve_ridge(gram: Array, right: Array) -> Array:
    """The solution of normal equations, with a penalty in units of the mean square of what is regressed on."""
    size = gram.trace(axis1=-2, axis2=-1).mean() / gram.shape[-1]
    return np.linalg.solve(gram + max(RIDGE * size, 1e-300) * np.eye(gram.shape[-1]), right)
