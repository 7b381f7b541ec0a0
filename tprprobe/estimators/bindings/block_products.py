"""Products of blocks of columns that are sums of pairs, and the solvers of their systems.

A block of which a unit has one column at most, as of single tokens, has a diagonal product and is eliminated
by its Schur complement; the others are one Cholesky. What a last block adds to others is cached as long as these stay.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, issparse

FLOOR = 1e-6  # variance of columns, of their mean square
ROUNDING = 1e-10  # least variance of a column, and least penalty in units of the mean variance
SPARSE_COST = 16  # of a number of a sparse array; a number of a dense array costs 1
DENSE_SHARE = 0.1  # of entries, from which a product is stored as a dense array

Matrix = Float64[np.ndarray, "_row _column"]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of a regression that share a penalty: sums of pairs of one part of a design."""

    name: str
    part_id: int
    basis: Any  # [pair of all parts, column], an array or sparse

    @property
    def width(self) -> int:
        return int(self.basis.shape[1])


class Grams:
    """X [unit, pair] of the units to fit to, and products of blocks of its columns, cached while they are used."""

    def __init__(self, counts: csr_array):
        self.counts = counts
        self.n, self.n_pairs = shape_of(counts)
        self.mean = np.asarray(counts.sum(0)).reshape(-1) / max(1, self.n)
        self._gram = self._make_gram()
        self._cache: dict[Any, Any] = {}

    def _make_gram(self) -> Any:
        """XᵀX, where it is no dearer to multiply by than X and Xᵀ: of few pairs, or of few a unit."""
        n_per_unit = np.diff(self.counts.indptr).astype(float)
        is_small = self.n_pairs**2 <= SPARSE_COST * 2 * self.counts.nnz
        if not is_small and float(n_per_unit @ n_per_unit) > 4 * self.counts.nnz:
            return None
        gram = self.counts.T @ self.counts
        return gram.toarray() if is_small else csr_array(gram)

    def _times(self, table: Any) -> Any:
        """XᵀX of a table of vectors of pairs."""
        return self.counts.T @ (self.counts @ table) if self._gram is None else self._gram @ table

    def centered(self, table: Matrix) -> Matrix:
        """XᵀX of a table, X centered."""
        return self._times(table) - np.outer(self.n * self.mean, self.mean @ table)

    def squares(self) -> Float64[np.ndarray, " pair"]:
        """The diagonal of XᵀX, X centered."""
        squares = np.asarray(self.counts.power(2).sum(0)).reshape(-1)
        return np.maximum(squares - self.n * self.mean**2, 0)

    def columns(self, block: Block) -> Any:
        """X of a block, [unit, column], sparse where its basis is."""
        return self._cached(("columns", block), lambda: self.counts @ block.basis)

    def column_squares(self, block: Block) -> Float64[np.ndarray, " column"]:
        """The diagonal of xᵀx of a block."""
        if issparse(block.basis):
            return np.asarray(self.columns(block).power(2).sum(0)).reshape(-1)
        if block.width <= self.n:
            return np.diag(self.product(block, block))
        return np.sum(self.columns(block) ** 2, 0)

    def column_means(self, block: Block) -> Float64[np.ndarray, " column"]:
        return np.asarray(block.basis.T @ self.mean)

    def is_single(self, block: Block) -> bool:
        """True if a unit has one column of a block at most, so that its product is diagonal."""
        is_sparse = issparse(block.basis)
        return is_sparse and bool(np.diff(self.columns(block).indptr).max(initial=0) <= 1)

    def scale(self, block: Block) -> float:
        """The mean variance of a column, times n: the unit of penalties."""

        def measure() -> float:
            squares, mean = float(self.column_squares(block).sum()), self.column_means(block)
            variation = squares - self.n * float(mean @ mean)
            return max(variation, FLOOR * squares, ROUNDING) / max(1, block.width)

        return self._cached(("scale", block), measure)

    def product(self, a: Block, b: Block) -> Any:
        """xᵀx of two blocks, sparse where most of it is 0."""
        if (b, a) in self._cache:
            return self._cache[b, a].T
        return self._cached((a, b), lambda: self._multiply(a, b))

    def _multiply(self, a: Block, b: Block) -> Any:
        if not issparse(b.basis):
            return a.basis.T @ self._cached(("image", b), lambda: self._times(b.basis))
        if not issparse(a.basis):
            return self.product(b, a).T
        gram = csr_array(self.columns(a).T @ self.columns(b))
        return gram.toarray() if gram.nnz > DENSE_SHARE * np.prod(shape_of(gram)) else gram

    def cross_gram(self, blocks: Sequence[Block], final: Block) -> list[Any]:
        """xᵀx of a column of ones, and of blocks, by another block."""
        return [self.n * self.column_means(final)[None], *(self.product(b, final) for b in blocks)]

    def system(self, blocks: Sequence[Block]) -> Matrix:
        """xᵀx of a column of ones and of blocks side by side."""
        spans = _spans([1, *(block.width for block in blocks)])
        system = np.empty((spans[-1].stop, spans[-1].stop))
        system[0, 0] = self.n
        for i, block in enumerate(blocks, 1):
            for j, product in enumerate(self.cross_gram(blocks[:i], block)):
                system[spans[j], spans[i]] = product = dense(product)
                system[spans[i], spans[j]] = product.T
        return system

    def solver(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> "BlockRidge":
        """The inverse of the system of blocks with these penalties."""
        key = ("solver", *blocks, *lambdas)
        return self._cached(key, lambda: BlockRidge(self, blocks, lambdas))

    def last_block(
        self, blocks: Sequence[Block], lambdas: Sequence[float], final: Block
    ) -> "LastBlock":
        """What a last block adds to others with these penalties; cached for one block at a time."""
        key = ("last", final, *blocks, *lambdas)
        for stale in [stale for stale in self._cache if stale[0] == "last" and stale != key]:
            del self._cache[stale]
        addition = self._cached(key, lambda: LastBlock(self, blocks, lambdas, final))
        self._cache.pop(("image", final), None)  # large, and no longer needed
        return addition

    def clear_cache(self, blocks: Sequence[Block] = ()) -> None:
        """Drops what is cached of other blocks."""
        for key in list(self._cache):
            if any(isinstance(block, Block) and block not in blocks for block in key):
                del self._cache[key]

    def _cached(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


class BlockRidge:
    """(g + Λ)⁻¹ of a column of ones, which has no penalty, and of blocks, by the Schur complement of the widest block
    of which a unit has one column at most.
    """

    def __init__(self, grams: Grams, blocks: Sequence[Block], lambdas: Sequence[float]):
        singles = [i for i, block in enumerate(blocks) if grams.is_single(block)]
        self.widest = widest = max(singles, key=lambda i: blocks[i].width, default=None)
        main = [block for i, block in enumerate(blocks) if i != widest]
        self.widths = [1, *(block.width for block in blocks)]
        widths = [1, *(block.width for block in main)]
        penalties = [0.0, *(size for i, size in enumerate(lambdas) if i != widest)]
        schur = grams.system(main)
        schur[np.diag_indices(len(schur))] += np.repeat(penalties, widths)
        if widest is not None:
            self.inverse = 1 / (grams.column_squares(blocks[widest]) + lambdas[widest])
            self.cross_terms = grams.cross_gram(main, blocks[widest])
            spans, inverse = _spans(widths), self.inverse[None]
            for i, row in enumerate(self.cross_terms):
                scaled = csr_array(row.multiply(inverse)) if issparse(row) else row * inverse
                for j, column in enumerate(self.cross_terms[: i + 1]):
                    product = dense(scaled @ column.T)
                    schur[spans[i], spans[j]] -= product
                    if i != j:
                        schur[spans[j], spans[i]] -= product.T
        self.factor = factorize(schur)

    def apply(self, right: Matrix) -> Matrix:
        """The solution for right sides, rows of ones and of blocks in their order."""
        if self.widest is None:
            return cho_solve(self.factor, right, check_finite=False)
        rows = split_rows(right, self.widths)
        single = rows.pop(1 + self.widest)
        scaled = single * self.inverse[:, None]
        remainder = [row - term @ scaled for row, term in zip(rows, self.cross_terms, strict=True)]
        solution = cho_solve(
            self.factor, np.concatenate(remainder), overwrite_b=True, check_finite=False
        )
        rows = split_rows(solution, [len(row) for row in rows])
        for term, row in zip(self.cross_terms, rows, strict=True):
            single = single - term.T @ row
        rows.insert(1 + self.widest, single * self.inverse[:, None])
        return np.concatenate(rows)


class LastBlock:
    """A last block beside others: their products, and the Schur complement of the others."""

    def __init__(
        self, grams: Grams, blocks: Sequence[Block], lambdas: Sequence[float], final: Block
    ):
        self.main = grams.solver(blocks, lambdas)
        cross = np.concatenate([dense(term) for term in grams.cross_gram(blocks, final)])
        self.solved = self.main.apply(cross)
        self.schur = dense(grams.product(final, final)) - cross.T @ self.solved

    def solve(
        self, main: Matrix, final: Matrix, penalty: float, columns: Any = None
    ) -> tuple[Matrix, Matrix]:
        """The coefficients of the others and of the last block (or some of its columns), from their right sides."""
        system, solved = self.schur.copy(), self.solved
        if columns is not None:
            system, final = self.schur[np.ix_(columns, columns)], final[columns]
            solved = solved[:, columns]
        system[np.diag_indices(len(system))] += penalty
        right = final - solved.T @ main
        of_last = cho_solve(factorize(system), right, overwrite_b=True, check_finite=False)
        return self.main.apply(main) - solved @ of_last, of_last


def shape_of(x: Any) -> tuple[int, int]:
    """The rows and columns of a sparse array, which the library's types do not promise."""
    return x.shape


def dense(matrix: Any) -> Matrix:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


def split_rows(rows: Matrix, widths: Sequence[int]) -> list[Matrix]:
    return np.split(rows, np.cumsum(widths)[:-1])


def _spans(widths: Sequence[int]) -> list[slice]:
    """The slices of blocks of these widths side by side."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *widths]).tolist())]


def factorize(matrix: Matrix) -> Any:
    """The Cholesky factor of a symmetric positive matrix, which is overwritten; eigenvalues that rounding has made
    negative are replaced by the least positive ones.
    """
    diagonal, options = matrix.diagonal().copy(), {"lower": True, "check_finite": False}
    try:
        return cho_factor(matrix.T, overwrite_a=True, **options)
    except LinAlgError:
        lower = np.tril(matrix, -1)  # LAPACK has overwritten the other triangle
        values, axes = np.linalg.eigh(lower + lower.T + np.diag(diagonal))
        values = np.maximum(values, ROUNDING * values[-1])
        return cho_factor((axes * values) @ axes.T, **options)
