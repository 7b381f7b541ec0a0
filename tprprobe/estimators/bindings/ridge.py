"""Ridge regression of vectors on blocks of columns, an intercept beside: one penalty a block.

Columns are sums of pairs, so that X, XᵀE and the means are all that a fit needs. A block of which a unit has
one column at most, as of single tokens, is solved for apart; the others by one Cholesky, by their dual
where units are fewer, and where both are many by conjugate gradients.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import cho_solve
from scipy.sparse import csr_array

from tprprobe.estimators.bindings.block_products import (
    ROUNDING,
    Block,
    Grams,
    Matrix,
    dense,
    factorize,
    split_rows,
)

MAX_DENSE = 5000  # columns or units up to which a system is one array
TOLERANCE, MAX_STEPS = 1e-2, 100  # of conjugate gradients
BATCH = 128  # columns that they solve for at a time
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

    def residual_cross_products(self, table: Matrix) -> Matrix:
        """XᵀE less what a table predicts, centered."""
        outer = np.outer(self.n * self.grams.mean, self.mean)
        return self.cross - outer - self.grams.centered(table)

    def solve(
        self,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        columns: Int[np.ndarray, " column"] | None = None,
    ) -> list[Matrix]:
        """The coefficients of every block; penalties are in units of its ``scale``, and of the last
        block only these ``columns`` are used.
        """
        if not blocks:
            return []
        self.grams.clear_cache(blocks)
        for stale in self._rights.keys() - {*blocks}:
            del self._rights[stale]
        scales = map(self.grams.scale, blocks)
        lambdas = [max(p, ROUNDING) * scale for p, scale in zip(penalties, scales, strict=True)]
        *main, final = blocks
        widths = [block.width for block in blocks]
        n_main = sum(block.width for block in main if not self.grams.is_single(block))
        is_single = self.grams.is_single(final) and final.width >= max(widths)
        is_dual = not is_single and sum(widths) > self.n <= MAX_DENSE
        if is_dual or max(n_main, 0 if is_single else final.width) > MAX_DENSE:
            if columns is not None:
                blocks = [*main, replace(final, basis=final.basis[:, columns])]
            return (self._solve_dual if is_dual else self._solve_stepwise)(blocks, lambdas)
        right = np.concatenate([self.n * self.mean[None], *map(self._right, main)])
        if is_single:
            right = np.concatenate([right, self._right(final)])
            solution = self.grams.solver(blocks, lambdas).apply(right)
            return split_rows(solution, [1, *widths])[1:]
        addition = self.grams.last_block(main, lambdas[:-1], final)
        of_main, of_last = addition.solve(right, self._right(final), lambdas[-1], columns)
        return [*split_rows(of_main, [1, *widths[:-1]])[1:], of_last]

    def _right(self, block: Block) -> Matrix:
        if block not in self._rights:
            self._rights[block] = np.asarray(block.basis.T @ self.cross)
        return self._rights[block]

    def _solve_dual(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> list[Matrix]:
        """Λ⁻¹ (c − xᵀ (x Λ⁻¹ xᵀ + I)⁻¹ x Λ⁻¹ c), x centered."""
        grams = self.grams
        kernel, predicted = np.zeros((self.n, self.n)), np.zeros((self.n, len(self.mean)))
        scaled = []
        for block, size in zip(blocks, lambdas, strict=True):
            x, mean = grams.columns(block), grams.column_means(block)
            kernel += dense(x @ x.T) / size
            scaled.append((self._right(block) - np.outer(self.n * mean, self.mean)) / size)
            predicted += x @ scaled[-1]
        kernel -= kernel.mean(0)
        kernel -= kernel.mean(1)[:, None]
        kernel[np.diag_indices(self.n)] += 1
        dual = cho_solve(factorize(kernel), predicted - predicted.mean(0), check_finite=False)
        dual -= dual.mean(0)
        return [
            right - grams.columns(block).T @ dual / size
            for right, block, size in zip(scaled, blocks, lambdas, strict=True)
        ]

    def _solve_stepwise(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> list[Matrix]:
        """By conjugate gradients on tables of vectors of pairs; blocks that are few columns together are
        solved for at every step.
        """
        widths, grams = [block.width for block in blocks], self.grams
        penalty = np.repeat(lambdas, widths)[:, None]
        variations = [
            grams.column_squares(block) - self.n * grams.column_means(block) ** 2
            for block in blocks
        ]
        diagonal = np.concatenate(variations)[:, None] + penalty
        is_small = len(blocks) > 1 and sum(widths[:-1]) <= MAX_DENSE
        solver = grams.solver(blocks[:-1], lambdas[:-1]) if is_small else None

        def project(table: Matrix) -> Matrix:
            return np.concatenate([block.basis.T @ table for block in blocks])

        def apply(v: Matrix) -> Matrix:
            table = sum_blocks(blocks, split_rows(v, widths))
            return project(grams.centered(table)) + penalty * v

        def precondition(residual: Matrix) -> Matrix:
            solution = residual / diagonal
            if solver:
                main = np.concatenate([np.zeros_like(residual[:1]), residual[: -widths[-1]]])
                solution[: -widths[-1]] = solver.apply(main)[1:]
            return solution

        right = project(self.cross - np.outer(self.n * grams.mean, self.mean))
        for start in range(0, right.shape[1], BATCH):  # so that memory is bounded
            batch = right[:, start : start + BATCH]
            batch[:] = conjugate_gradients(apply, batch, precondition, MAX_STEPS, TOLERANCE)
        return split_rows(right, widths)


def sum_blocks(blocks: Sequence[Block], coefficients: Sequence[Matrix]) -> Matrix:
    """V of the pairs of all parts: Σ basis · coefficients."""
    terms = (block.basis @ c for block, c in zip(blocks, coefficients, strict=True))
    return sum(terms, np.zeros((1, 1)))


def conjugate_gradients(
    apply: Callable[[Matrix], Matrix],
    right: Matrix,
    precondition: Callable[[Matrix], Matrix] = lambda residual: residual,
    max_steps: int = MAX_STEPS,
    tolerance: float = TOLERANCE,
) -> Matrix:
    """The solution of ``apply(x) = right``, every column by itself, for a symmetric positive map.

    A column ends where the map has no curvature left, as in a direction that it takes to 0.
    ``precondition`` is about the inverse of the map.
    """

    def dots(a: Matrix, right: Matrix) -> Float64[np.ndarray, " column"]:
        return np.einsum("ij,ij->j", a, right)

    x, residual = np.zeros_like(right), right.copy()
    direction = scaled = precondition(residual)
    size = dots(residual, scaled)
    target = tolerance**2 * size
    for _ in range(max_steps):
        active = size > target
        if not active.any():
            break
        image = apply(direction)
        curvature = dots(direction, image)
        lengths = np.sqrt(dots(direction, direction) * dots(image, image))
        active &= curvature > FLAT * lengths  # else it is a direction that the map takes to 0
        step = np.where(active, size / np.where(active, curvature, 1.0), 0)
        x += step * direction
        residual = residual - step * image
        scaled = precondition(residual)
        next_size = dots(residual, scaled)
        ratio = np.where(active, next_size / np.maximum(size, 1e-300), 0)
        direction = scaled + ratio * direction
        size = np.where(active, next_size, 0)
    return x
