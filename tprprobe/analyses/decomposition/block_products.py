"""Products of blocks of columns that are sums of pairs, and the solvers of their systems.

A block of which a unit has one column at most, as of single tokens, has a diagonal product and is eliminated;
the others are one Cholesky. What a last block adds to others is kept as long as these stay as they are.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, issparse

FLOOR = 1e-6  # variance of columns, of their mean square
LEAST = (
    1e-10  # variance of a column, and penalty of the mean variance of columns: what rounding needs
)
DEAR = 16  # what a number of a sparse array costs, one of a dense array being 1
FULL = 0.1  # share of entries from which a product is one array

Matrix = Float64[np.ndarray, "_row _column"]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of a regression that share a penalty: sums of pairs of one part of a design."""

    name: str
    part: int
    basis: Any  # [pair of all parts, column], an array or sparse

    @property
    def width(self) -> int:
        return int(self.basis.shape[1])


class Grams:
    """X [unit, pair] of the units to fit to, and products of blocks of its columns, as long as they are used."""

    def __init__(self, counts: csr_array):
        self.counts = counts
        self.n, self.pairs = sizes(counts)
        self.mean = np.asarray(counts.sum(0)).reshape(-1) / max(1, self.n)
        self._gram = self._make_gram()
        self._kept: dict[Any, Any] = {}

    def _make_gram(self) -> Any:
        """XᵀX, where it is no dearer to multiply by than X and Xᵀ: of few pairs, or of few a unit."""
        often = np.diff(self.counts.indptr).astype(float)
        is_small = self.pairs**2 <= DEAR * 2 * self.counts.nnz
        if not is_small and float(often @ often) > 4 * self.counts.nnz:
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
        found = np.asarray(self.counts.power(2).sum(0)).reshape(-1)
        return np.maximum(found - self.n * self.mean**2, 0)

    def columns(self, block: Block) -> Any:
        """X of a block, [unit, column], sparse where its basis is."""
        return self._keep(("columns", block), lambda: self.counts @ block.basis)

    def column_squares(self, block: Block) -> Float64[np.ndarray, " column"]:
        """The diagonal of xᵀx of a block."""
        if issparse(block.basis):
            return np.asarray(self.columns(block).power(2).sum(0)).reshape(-1)
        if block.width <= self.n:
            return np.diag(self.product(block, block))
        return np.sum(self.columns(block) ** 2, 0)

    def mean_of(self, block: Block) -> Float64[np.ndarray, " column"]:
        return np.asarray(block.basis.T @ self.mean)

    def is_single(self, block: Block) -> bool:
        """True if a unit has one column of a block at most, so that its product is diagonal."""
        is_sparse = issparse(block.basis)
        return is_sparse and bool(np.diff(self.columns(block).indptr).max(initial=0) <= 1)

    def scale(self, block: Block) -> float:
        """The mean variance of a column, times n: the unit of penalties."""

        def measure() -> float:
            squares, mean = float(self.column_squares(block).sum()), self.mean_of(block)
            varying = squares - self.n * float(mean @ mean)
            return max(varying, FLOOR * squares, LEAST) / max(1, block.width)

        return self._keep(("scale", block), measure)

    def product(self, one: Block, other: Block) -> Any:
        """xᵀx of two blocks, sparse where most of it is 0."""
        if (other, one) in self._kept:
            return self._kept[other, one].T
        return self._keep((one, other), lambda: self._multiply(one, other))

    def _multiply(self, one: Block, other: Block) -> Any:
        if not issparse(other.basis):
            return one.basis.T @ self._keep(("image", other), lambda: self._times(other.basis))
        if not issparse(one.basis):
            return self.product(other, one).T
        found = csr_array(self.columns(one).T @ self.columns(other))
        return found.toarray() if found.nnz > FULL * np.prod(sizes(found)) else found

    def beside(self, blocks: Sequence[Block], other: Block) -> list[Any]:
        """xᵀx of a column of ones, and of blocks, by another block."""
        return [self.n * self.mean_of(other)[None], *(self.product(b, other) for b in blocks)]

    def system(self, blocks: Sequence[Block]) -> Matrix:
        """xᵀx of a column of ones and of blocks side by side."""
        at = _spans([1, *(each.width for each in blocks)])
        found = np.empty((at[-1].stop, at[-1].stop))
        found[0, 0] = self.n
        for i, one in enumerate(blocks, 1):
            found[0, at[i]] = found[at[i], 0] = self.n * self.mean_of(one)
            for j, other in enumerate(blocks[:i], 1):
                found[at[i], at[j]] = product = dense(self.product(one, other))
                found[at[j], at[i]] = product.T
        return found

    def solver(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> "Solver":
        """The inverse of the system of blocks with these penalties."""
        return self._keep(("solver", *blocks, *lambdas), lambda: Solver(self, blocks, lambdas))

    def addition(
        self, blocks: Sequence[Block], lambdas: Sequence[float], last: Block
    ) -> "Addition":
        """What a last block adds to others with these penalties; of one block at a time."""
        key = ("addition", last, *blocks, *lambdas)
        for other in [other for other in self._kept if other[0] == "addition" and other != key]:
            del self._kept[other]
        found = self._keep(key, lambda: Addition(self, blocks, lambdas, last))
        self._kept.pop(("image", last), None)  # large, and done with
        return found

    def forget_others(self, blocks: Sequence[Block]) -> None:
        """Drops what is kept of blocks that are not in use."""
        for key in list(self._kept):
            if any(isinstance(b, Block) and b not in blocks for b in key):
                del self._kept[key]

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


class Solver:
    """(g + Λ)⁻¹ of a column of ones, which has no penalty, and of blocks; the widest of which a unit has one
    column at most is eliminated.
    """

    def __init__(self, grams: Grams, blocks: Sequence[Block], lambdas: Sequence[float]):
        singles = [i for i, each in enumerate(blocks) if grams.is_single(each)]
        self.widest = widest = max(singles, key=lambda i: blocks[i].width, default=None)
        others = [each for i, each in enumerate(blocks) if i != widest]
        self.widths = [1, *(each.width for each in blocks)]
        widths = [1, *(each.width for each in others)]
        penalty = [0.0, *(each for i, each in enumerate(lambdas) if i != widest)]
        system = grams.system(others)
        system[np.diag_indices(len(system))] += np.repeat(penalty, widths)
        if widest is not None:
            self.inverse = 1 / (grams.column_squares(blocks[widest]) + lambdas[widest])
            self.beside = grams.beside(others, blocks[widest])
            at = _spans(widths)
            for i, one in enumerate(self.beside):
                by = self.inverse[None]
                shrunk = csr_array(one.multiply(by)) if issparse(one) else one * by
                for j, other in enumerate(self.beside[: i + 1]):
                    product = dense(shrunk @ other.T)
                    system[at[i], at[j]] -= product
                    if i != j:
                        system[at[j], at[i]] -= product.T
        self.factor = factorize(system)

    def apply(self, right: Matrix) -> Matrix:
        """The solution for right sides, rows of ones and of blocks in their order."""
        if self.widest is None:
            return cho_solve(self.factor, right, check_finite=False)
        rows = split_rows(right, self.widths)
        single = rows.pop(1 + self.widest)
        shrunk = single * self.inverse[:, None]
        rest = np.concatenate([r - h @ shrunk for r, h in zip(rows, self.beside, strict=True)])
        found = cho_solve(self.factor, rest, overwrite_b=True, check_finite=False)
        rows = split_rows(found, [len(each) for each in rows])
        for h, each in zip(self.beside, rows, strict=True):
            single = single - h.T @ each
        rows.insert(1 + self.widest, single * self.inverse[:, None])
        return np.concatenate(rows)


class Addition:
    """A last block beside others: their products, and what the others leave of its own."""

    def __init__(
        self, grams: Grams, blocks: Sequence[Block], lambdas: Sequence[float], last: Block
    ):
        self.solver = grams.solver(blocks, lambdas)
        beside = np.concatenate([dense(each) for each in grams.beside(blocks, last)])
        self.turned = self.solver.apply(beside)
        self.left = dense(grams.product(last, last)) - beside.T @ self.turned

    def solve(self, main: Matrix, own: Matrix, size: float, kept: Any) -> tuple[Matrix, Matrix]:
        """The coefficients of the others and of the columns ``kept`` of the last one, from right sides."""
        system = self.left[np.ix_(kept, kept)] if kept is not None else self.left.copy()
        system[np.diag_indices(len(system))] += size
        turned = self.turned if kept is None else self.turned[:, kept]
        right = (own if kept is None else own[kept]) - turned.T @ main
        found = cho_solve(factorize(system), right, overwrite_b=True, check_finite=False)
        return self.solver.apply(main) - turned @ found, found


def sizes(x: Any) -> tuple[int, int]:
    """The rows and columns of a sparse array, which the library's types do not promise."""
    return x.shape


def dense(matrix: Any) -> Matrix:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


def split_rows(found: Matrix, widths: Sequence[int]) -> list[Matrix]:
    return np.split(found, np.cumsum(widths)[:-1])


def _spans(widths: Sequence[int]) -> list[slice]:
    """Where blocks of these widths lie side by side."""
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(*each) for each in itertools.pairwise(ends)]


def factorize(matrix: Matrix) -> Any:
    """The Cholesky factor of a symmetric positive matrix, which is overwritten."""
    return cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
