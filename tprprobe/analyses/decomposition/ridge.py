"""Ridge regression of vectors on blocks of columns, an intercept beside: one penalty a block.

Columns are sums of pairs, so that X, XᵀE and the means are all that a fit needs. A block of which a unit has
one column at most, as of single tokens, is solved for apart; the others by one Cholesky, by their dual
where units are fewer, and where both are many by conjugate gradients.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import cho_solve
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.block_products import (
    LEAST,
    Block,
    Grams,
    Matrix,
    Solver,
    dense,
    factorize,
    sizes,
    split_rows,
)
from tprprobe.analyses.decomposition.designs import Flags, rows_of
from tprprobe.analyses.decomposition.sequence_units import UnitVectors
from tprprobe.store.dask_workers import each_part

DENSE = 5000  # columns or units up to which a system is one array
TOLERANCE, MOST_STEPS = 1e-2, 100  # of conjugate gradients
TOGETHER = 128  # columns that they solve for at a time
FLAT = 1e-12  # cosine of a direction and its image, below which rounding decides


@dataclass(frozen=True, eq=False)
class Regression:
    """Units to fit to: their counts, and of their vectors XᵀE and ē."""

    grams: Grams
    cross: Float64[np.ndarray, "pair d_model"]
    mean: Float64[np.ndarray, " d_model"]
    _rights: dict[Block, Matrix] = field(init=False, default_factory=dict)

    @classmethod
    def of(cls, counts: csr_array, vectors: Float64[np.ndarray, "unit d_model"]) -> "Regression":
        """That of vectors in memory."""
        return cls(Grams(counts), counts.T @ vectors, vectors.mean(0))

    @property
    def n(self) -> int:
        return self.grams.n

    def bias(self, table: Matrix) -> Float64[np.ndarray, " d_model"]:
        """The intercept beside a table of vectors of pairs."""
        return self.mean - self.grams.mean @ table

    def left_by(self, table: Matrix) -> Matrix:
        """XᵀE less what a table predicts, centered."""
        outer = np.outer(self.n * self.grams.mean, self.mean)
        return self.cross - outer - self.grams.centered(table)

    def solve(
        self,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        kept: Int[np.ndarray, " kept"] | None = None,
    ) -> list[Matrix]:
        """The coefficients of every block; penalties are in units of its ``scale``, and of the last
        block only the columns ``kept`` are used.
        """
        if not blocks:
            return []
        self.grams.forget_others(blocks)
        for each in [each for each in self._rights if each not in blocks]:
            del self._rights[each]
        scales = map(self.grams.scale, blocks)
        lambdas = [max(p, LEAST) * scale for p, scale in zip(penalties, scales, strict=True)]
        *main, last = blocks
        widths = [each.width for each in blocks]
        beside = sum(each.width for each in main if not self.grams.is_single(each))
        is_single = self.grams.is_single(last) and last.width >= max(widths)
        is_dual = not is_single and sum(widths) > self.n <= DENSE
        if is_dual or max(beside, 0 if is_single else last.width) > DENSE:
            if kept is not None:
                blocks = [*main, replace(last, basis=last.basis[:, kept])]
            return (self._solve_dual if is_dual else self._solve_stepwise)(blocks, lambdas)
        right = np.concatenate([self.n * self.mean[None], *map(self._right, main)])
        own = self._right(last)
        if is_single:
            found = Solver(self.grams, blocks, lambdas).apply(np.concatenate([right, own]))
            return split_rows(found, [1, *widths])[1:]
        addition = self.grams.addition(main, lambdas[:-1], last)
        found, of_last = addition.solve(right, own, lambdas[-1], kept)
        return [*split_rows(found, [1, *widths[:-1]])[1:], of_last]

    def _right(self, block: Block) -> Matrix:
        if block not in self._rights:
            self._rights[block] = np.asarray(block.basis.T @ self.cross)
        return self._rights[block]

    def _solve_dual(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> list[Matrix]:
        """Λ⁻¹ (c − xᵀ (x Λ⁻¹ xᵀ + I)⁻¹ x Λ⁻¹ c), x centered."""
        g = self.grams
        kernel, held = np.zeros((self.n, self.n)), np.zeros((self.n, len(self.mean)))
        shrunk = []
        for block, size in zip(blocks, lambdas, strict=True):
            x, mean = g.columns(block), g.mean_of(block)
            kernel += dense(x @ x.T) / size
            shrunk.append((self._right(block) - np.outer(self.n * mean, self.mean)) / size)
            held += x @ shrunk[-1]
        kernel -= kernel.mean(0)
        kernel -= kernel.mean(1)[:, None]
        kernel[np.diag_indices(self.n)] += 1
        inner = cho_solve(factorize(kernel), held - held.mean(0), check_finite=False)
        inner -= inner.mean(0)
        return [
            own - g.columns(block).T @ inner / size
            for own, block, size in zip(shrunk, blocks, lambdas, strict=True)
        ]

    def _solve_stepwise(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> list[Matrix]:
        """By conjugate gradients on tables of vectors of pairs; blocks that are few columns together are
        solved for at every step.
        """
        widths, g = [each.width for each in blocks], self.grams
        penalty = np.repeat(lambdas, widths)[:, None]
        squares = [g.column_squares(each) - self.n * g.mean_of(each) ** 2 for each in blocks]
        diagonal = np.concatenate(squares)[:, None] + penalty
        small = sum(widths[:-1]) <= DENSE and blocks[:-1]
        solver = g.solver(blocks[:-1], lambdas[:-1]) if small else None

        def gather(table: Matrix) -> Matrix:
            return np.concatenate([each.basis.T @ table for each in blocks])

        def apply(v: Matrix) -> Matrix:
            return gather(g.centered(table_of(blocks, split_rows(v, widths)))) + penalty * v

        def precondition(rest: Matrix) -> Matrix:
            found = rest / diagonal
            if solver:
                main = np.concatenate([np.zeros_like(rest[:1]), rest[: -widths[-1]]])
                found[: -widths[-1]] = solver.apply(main)[1:]
            return found

        right = gather(self.cross - np.outer(self.n * g.mean, self.mean))
        for at in range(0, right.shape[1], TOGETHER):  # so that memory is bounded
            some = right[:, at : at + TOGETHER]
            some[:] = conjugate_gradients(apply, some, precondition, MOST_STEPS, TOLERANCE)
        return split_rows(right, widths)


def table_of(blocks: Sequence[Block], coefficients: Sequence[Matrix]) -> Matrix:
    """V of the pairs of all parts: Σ basis · coefficients."""
    return sum((b.basis @ of for b, of in zip(blocks, coefficients, strict=True)), np.zeros((1, 1)))


def conjugate_gradients(
    apply: Callable[[Matrix], Matrix],
    right: Matrix,
    precondition: Callable[[Matrix], Matrix] = lambda rest: rest,
    steps: int = MOST_STEPS,
    tolerance: float = TOLERANCE,
) -> Matrix:
    """The solution of ``apply(x) = right``, every column by itself, for a symmetric positive map.

    A column ends where the map has no curvature left, as in a direction that it takes to 0.
    ``precondition`` is about the inverse of the map.
    """

    def dots(one: Matrix, other: Matrix) -> Float64[np.ndarray, " column"]:
        return np.einsum("ij,ij->j", one, other)

    x, rest = np.zeros_like(right), right.copy()
    direction = scaled = precondition(rest)
    size = dots(rest, scaled)
    enough = tolerance**2 * size
    for _ in range(steps):
        active = size > enough
        if not active.any():
            break
        image = apply(direction)
        curve = dots(direction, image)
        norms = [np.sqrt(dots(each, each)) for each in (direction, image)]
        active &= curve > FLAT * norms[0] * norms[1]  # else it is a direction that the map ends
        if not active.any():
            break
        step = np.where(active, size / np.where(active, curve, 1.0), 0)
        x += step * direction
        rest = rest - step * image
        scaled = precondition(rest)
        new = dots(rest, scaled)
        direction = scaled + np.where(active, new / np.maximum(size, 1e-300), 0) * direction
        size = np.where(active, new, 0)
    return x


Masked = tuple[csr_array, Flags]  # the counts of units, and which of them are fitted to


@runtime_checkable
class DividedUnits(Protocol):
    """Units by their counts of pairs, and which of them each of several regressions is fitted to."""

    @property
    def counts(self) -> csr_array: ...
    @property
    def fitted(self) -> Sequence[Flags]: ...


def gather(vectors: UnitVectors, designs: Sequence[DividedUnits]) -> list[list[Regression]]:
    """The regressions of designs on the units they are fitted to, from one pass over the vectors."""
    masked = [(of.counts, rows) for of in designs for rows in of.fitted]
    cross = [np.zeros((sizes(x)[1], vectors.width)) for x, _ in masked]
    total = np.zeros((len(masked), vectors.width))
    for found in each_part(partial(_sum_up, vectors, masked), vectors.parts()):
        for j, (pairs, values, of_units) in enumerate(found):
            cross[j][pairs] += values
            total[j] += of_units
    made = (
        Regression(Grams(rows_of(counts, rows)), of_pairs, of_units / max(1, int(rows.sum())))
        for (counts, rows), of_pairs, of_units in zip(masked, cross, total, strict=True)
    )
    return [[next(made) for _ in of.fitted] for of in designs]


def _sum_up(
    vectors: UnitVectors, masked: Sequence[Masked], rows: slice
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs that some units have, with their XᵀE and Σ e, design by design."""
    held = []
    for counts, which in masked:
        x = csr_array(counts[rows])
        pairs = np.unique(x.indices)
        found = np.zeros((len(pairs), vectors.width)), np.zeros(vectors.width)
        held.append((pairs, csr_array(x[:, pairs]), which[rows], *found))
    for units, block in vectors.blocks(rows):
        at = slice(units.start - rows.start, units.stop - rows.start)
        for _, x, which, cross, total in held:
            of = np.flatnonzero(which[at])
            total += block[of].sum(0)
            cross += csr_array(x[at])[of].T @ block[of]
    return [(pairs, cross, total) for pairs, _, _, cross, total in held]
