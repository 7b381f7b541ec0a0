"""Kernels of random components of states, multiplied block by block; `components` has the definition and sources."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array, hstack

BATCH = 64  # columns that are multiplied at a time
N_TABLES = 64  # random tables, that say how much what vectors share by chance changes an estimate
TOLERANCE = 1e-8  # of eigenvalues of columns that depend on each other
LEVERAGE = 1e-6  # that a block lacks of 1, at least
N_SUMS = 4  # of the series of the weights of a fixed component, whose n-th part is about 20⁻ⁿ
SHRINKAGE = 1.0  # of weights 1 / (count + SHRINKAGE)

Columns = csr_array | Float64[np.ndarray, "unit column"]
States = Float64[np.ndarray, "unit d"]


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis of columns, Q = F T, whose rows are made when they are used."""

    columns: csr_array
    transform: Float64[np.ndarray, "column axis"]

    @classmethod
    def span(cls, columns: csr_array, beyond: "Basis | None" = None) -> "Basis":
        """The basis of columns, or of what they add to another basis: Q₂ = (F₂ − Q Qᵀ F₂) T₂."""
        norm = np.sqrt(np.asarray(columns.power(2).sum(0)).ravel())
        unit = np.divide(1, norm, out=np.zeros_like(norm), where=norm > 0)
        gram = unit[:, None] * (columns.T @ columns).toarray() * unit
        if beyond is None:
            return cls(columns, unit[:, None] * _inverse_root(gram))
        shared = beyond.transform.T @ (beyond.columns.T @ columns).toarray() * unit
        root = _inverse_root(gram - shared.T @ shared)
        transform = np.vstack([-beyond.transform @ (shared @ root), unit[:, None] * root])
        return cls(csr_array(hstack([beyond.columns, columns], format="csr")), transform)

    def __len__(self) -> int:
        return self.transform.shape[1]

    def all_rows(self) -> Float64[np.ndarray, "unit axis"]:
        return self.columns @ self.transform


def _inverse_root(gram: np.ndarray) -> np.ndarray:
    """T with Tᵀ G T = 1 on the range of G."""
    values, axes = np.linalg.eigh(gram)
    is_positive = values > TOLERANCE * max(1.0, values.max(initial=0.0))
    return axes[:, is_positive] / np.sqrt(values[is_positive])


@dataclass(frozen=True, eq=False)
class Component:
    """Columns X of a random component X V, and the weights W of its kernel X W Xᵀ (of a fixed component W^½); ``is_measured``: the share is its own.

    The vectors of columns of one name (a filler, a role), by number in ``names``, may be alike in length. The component has further
    columns that X lacks; with them the sum of squares of its columns is ``scale`` times that of X.
    """

    columns: Columns
    weights: Float64[np.ndarray, " column"] | Float64[np.ndarray, "column axis"]
    is_measured: bool
    names: Sequence[Int[np.ndarray, " column"]] = ()
    scale: float = 1.0

    @classmethod
    def random(
        cls,
        columns: csr_array,
        is_measured: bool = False,
        names: Sequence[Int[np.ndarray, " column"]] = (),
        unseen: float = 0.0,
    ) -> "Component":
        """A component of many columns: W = 1 / (count + SHRINKAGE), where an entry counts by its square over that of a typical one."""
        squares = columns.power(2)
        counts = np.asarray(squares.sum(0)).ravel() * squares.sum() / max(squares.power(2).sum(), 1e-300)  # fmt: skip
        scale = 1 + unseen / max(squares.sum(), 1e-300)
        return cls(columns, 1 / (counts + SHRINKAGE), is_measured, names, scale)

    @classmethod
    def fixed(cls, basis: Basis, projection: "Projection") -> "Component":
        """A component of few columns: of an orthonormal basis Q, with weights by which products of Q V add up to the sum of squares of
        Q V, whatever V is: W − Σ_b Q_bᵀ Q_b W H_b = 1, where H_b V are the products of Q_b with what other blocks leave of Q V.
        Of directions that few blocks have, the series stops early, so that noise does not grow: they count as like others.
        """
        rows = basis.all_rows()
        left_out, identity = projection.apply(rows).left_out, np.eye(len(basis))
        inside = [(rows[units].T @ rows[units], rows[units].T @ left_out[units]) for units in projection.blocks]  # fmt: skip
        metric = identity
        for _ in range(N_SUMS):
            metric = identity + sum(gram @ metric @ product for gram, product in inside)
            metric = (metric + metric.T) / 2
        values, axes = np.linalg.eigh(metric)
        return cls(rows, axes * np.sqrt(values.clip(1)), True)

    @property
    def is_random(self) -> bool:
        """Whether the vectors of its columns count as drawn."""
        return isinstance(self.columns, csr_array)

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of X, in no order."""
        return self.columns.data if isinstance(self.columns, csr_array) else self.columns.ravel()

    def draw(self, rng: np.random.Generator, n: int) -> States:
        """X V of random signs V."""
        return self.columns @ _draw_signs(rng, self.columns.shape[1], n)  # pyright: ignore[reportOptionalSubscript]

    def draw_tables(self, rng: np.random.Generator) -> States:
        """X V of random tables V of rank one, products of a sign of every name: f r."""
        signs = [_draw_signs(rng, 1 + names.max(), N_TABLES)[names] for names in self.names]
        return self.columns @ np.prod(signs, 0)


def _draw_signs(rng: np.random.Generator, *shape: int) -> Float64[np.ndarray, "_column draw"]:
    return rng.choice([-1.0, 1.0], size=shape)


@dataclass(frozen=True, eq=False)
class Projection:
    """P, which projects a basis Q out of states, and what each block needs for the residuals that the other blocks leave:
    (I − Q_b Q_bᵀ)⁻¹ (P S)_b = (P S)_b + Q_b (I − Q_bᵀ Q_b)⁻¹ Q_bᵀ (P S)_b.
    """

    rows: Float64[np.ndarray, "unit axis"]
    blocks: Sequence[slice]
    inner: list[Float64[np.ndarray, "axis axis"]]
    factors: list[Any]  # Cholesky factors of I − Q_bᵀ Q_b

    @classmethod
    def prepare(cls, basis: Basis, blocks: Sequence[slice]) -> "Projection":
        """The projection of units that lie block by block."""
        rows = basis.all_rows()
        inner = [rows[units].T @ rows[units] for units in blocks]
        identity = (1 + LEVERAGE) * np.eye(len(basis))
        return cls(rows, blocks, inner, [cho_factor(identity - gram) for gram in inner])

    def apply(self, states: States) -> "Residuals":
        """The residuals of states."""
        residuals = states - self.rows @ (self.rows.T @ states)
        left_out, fits, left_out_fits = residuals.copy(), [], []
        for units, inner, factor in zip(self.blocks, self.inner, self.factors, strict=True):
            fit = self.rows[units].T @ residuals[units]
            correction = cho_solve(factor, fit)
            left_out[units] += self.rows[units] @ correction
            fits.append(fit)
            left_out_fits.append(fit + inner @ correction)
        return Residuals(residuals, left_out, fits, left_out_fits)


class Residuals(NamedTuple):
    """P S; what is left of each block by the other blocks' fit; Q_bᵀ times both."""

    states: States
    left_out: States
    fits: list[Float64[np.ndarray, "axis d"]]
    left_out_fits: list[Float64[np.ndarray, "axis d"]]


class Products(NamedTuple):
    """Products of each block with the other blocks, for every column of states; what the products of two blocks are made of: X_bᵀ r_b
    (of the columns that the block has), Q_bᵀ r_b and G_bᵀ r_b.
    """

    sums: Float64[np.ndarray, "block d"]
    columns: list[Float64[np.ndarray, "column d"]]
    fits: list[Float64[np.ndarray, "axis d"]]
    corrections: list[Float64[np.ndarray, "axis d"]]


class Kernel:
    """Products r_aᵀ (P K P)_ab r_b of blocks with K = X W Xᵀ less its diagonal D, so that a unit is never compared with itself:
    (P K P)_aa = K_aa + Q_a G_a + G_aᵀ Q_aᵀ, G_a = ½ Qᵀ K Q Q_aᵀ − (Qᵀ K)_a. X stays sparse, and a block is multiplied by the columns
    that it has.
    """

    def __init__(self, component: Component, projection: Projection):
        columns, weights = component.columns, component.weights
        is_sparse, rows = isinstance(columns, csr_array), projection.rows
        x: Any = columns @ (diags_array(np.sqrt(weights)) if is_sparse else weights)
        self.component, self.projection, self.n_columns = component, projection, len(weights)
        self.size = float(np.vdot(component.numbers, component.numbers))
        self.own = (x.power(2).sum(1) if is_sparse else np.einsum("ij,ij->i", x, x))[:, None]
        self.image = -self.own * rows  # K Q; fixed columns are orthogonal to Q
        for start in range(0, rows.shape[1], BATCH) if is_sparse else ():
            axes = slice(start, start + BATCH)
            self.image[:, axes] += x @ (x.T @ rows[:, axes])
        self.of_basis = rows.T @ self.image
        inside = [x[units] for units in projection.blocks]
        self.ids = [np.unique(block.indices) if is_sparse else slice(None) for block in inside]
        self.inside = [block[:, ids] for block, ids in zip(inside, self.ids, strict=True)]
        self.transposed = [block.T for block in self.inside]  # once: scipy checks each anew

    def multiply(self, residuals: Residuals) -> Products:
        """The products of residuals."""
        blocks, r, left_out = self.projection.blocks, residuals.states, residuals.left_out
        inner = [x @ r[units] for x, units in zip(self.transposed, blocks, strict=True)]
        along = [self.image[units].T @ r[units] for units in blocks]
        total, shared, sums, corrections = self.add_up(inner), np.sum(along, 0), [], []
        for i, (units, fit, left_out_fit) in enumerate(zip(blocks, residuals.fits, residuals.left_out_fits, strict=True)):  # fmt: skip
            correction = self.of_basis @ fit / 2 - along[i]
            left_out_correction = self.of_basis @ left_out_fit / 2
            left_out_correction -= self.image[units].T @ left_out[units]
            left_out_inner = self.transposed[i] @ left_out[units]
            product = (inner[i] * (total[self.ids[i]] - left_out_inner)).sum(0)
            product -= (self.own[units] * r[units] * (r[units] - left_out[units])).sum(0)
            product -= (fit * (shared + left_out_correction) + correction * left_out_fit).sum(0)
            sums.append(product)
            corrections.append(correction)
        return Products(np.array(sums), inner, residuals.fits, corrections)

    def add_up(self, inner: Sequence[np.ndarray], blocks: Iterable[int] | None = None) -> States:
        """Σ X_bᵀ r_b over all blocks, or over some."""
        total = np.zeros((self.n_columns, inner[0].shape[1]))
        for i in range(len(inner)) if blocks is None else blocks:
            total[self.ids[i]] += inner[i]
        return total

    @cached_property
    def squares(self) -> Float64[np.ndarray, "block column"]:
        """Σ x² of every column in every block."""
        squares = np.zeros((len(self.inside), self.n_columns))
        for row, x, ids in zip(squares, self.inside, self.ids, strict=True):
            row[ids] = np.asarray((x * x).sum(0)).ravel()
        return squares

    @property
    def unmeasured(self) -> float:
        """The share of the squares of columns that lie in a single block, of which no product tells the length."""
        is_single = (self.squares > 0).sum(0) == 1
        return float(self.squares[:, is_single].sum() / self.squares.sum())
