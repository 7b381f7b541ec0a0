"""Binding operations: what a table of vectors V[f, r] is made of, a vector a filler and a vector a role.

An operation is an object with ``bind(filler, role)``, vectors to vectors, and ``fit(table, weights)``, which
leaves the vectors as ``fillers_`` and ``roles_``, a row a symbol. It sees arrays alone. A pair of weight 0 is
unseen: ``bind`` of its two vectors completes the table. Packages add operations under ``tprprobe.operations``.

Sources: Smolensky 1990 (tensor product), Gayler 1998 (Hadamard product), Plate 1995 (circular convolution),
Su et al. 2021 (rotation of planes), Schönemann 1966 (orthogonal maps), Tucker 1966 (outer product of a rank).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tprprobe.estimators.bindings.operations_base import (
    RANKS,
    RIDGE,
    Array,
    Operation,
    RoleMatrix,
    Table,
    Weights,
    left_singular_vectors,
)
from tprprobe.estimators.bindings.operations_learned import (
    LearnedConvolution,
    LearnedPlanes,
    LearnedProduct,
)

SWEEPS, FEW = 20, 10  # of alternating least squares, and of steps that converge at once


class Additive(Operation):
    """f + r: no binding."""

    title, is_basis_free = "additive", True

    @classmethod
    def is_case_of(cls, other: type[Operation]) -> bool:
        return True  # main effects stand beside every operation

    def fit(self, table: Table, weights: Weights) -> "Operation":
        self.roles_ = np.zeros(table.shape[1:])
        for _ in range(FEW):
            self.fillers_ = _mean(table - self.roles_, weights, 1)
            self.roles_ = _mean(table - self.fillers_[:, None], weights, 0)
        return self

    def bind(self, filler: Array, role: Array) -> Array:
        return filler + role


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
            self.fillers_ = _mean(turned.swapaxes(0, 1), weights, 1)
        return self

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
        return issubclass(
            other, RoleMatrix | Hadamard
        )  # in a learned basis, an axis for every product

    def factorize(self, table: Table) -> None:
        super().factorize(table)
        maps = self.roles_
        self.roles_ = left_singular_vectors(maps.reshape(len(maps), -1))[:, : self.role_rank]
        self.readout_ = np.tensordot(self.roles_, maps, (0, 0)).swapaxes(0, 1)

    def bind(self, filler: Array, role: Array) -> Array:
        return (filler[..., None, :] @ np.tensordot(role, self.readout_, (-1, 1)))[..., 0, :]


def _mean(table: Array, weights: Weights, axis: int) -> Array:
    """The weighted mean along fillers (0) or roles (1), shrunk as by a few unseen zeros."""
    totals = np.einsum("frd,fr->rd" if axis == 0 else "frd,fr->fd", table, weights)
    return totals / (weights.sum(axis) + RIDGE)[:, None]


def _regress(table: Array, factor: Array, weights: Weights, axis: int) -> Array:
    """The multiples of a factor nearest a table along an axis, coordinate by coordinate, by weighted ridge."""
    sums = "frd,fr->rd" if axis == 0 else "frd,fr->fd"
    size = abs(factor) ** 2
    penalty = RIDGE * size.mean((0, 1)) * weights.sum(axis).mean()
    norms = np.einsum(sums, np.broadcast_to(size, table.shape), weights)
    return np.einsum(sums, table * factor.conj(), weights) / np.maximum(norms + penalty, 1e-300)
