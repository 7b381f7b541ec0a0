"""Ridge regression of vectors on blocks of columns, an intercept beside: one penalty a block.

Columns are sums of pairs, so that X, XᵀE and the means are all that a fit needs. A block of which a unit has
one column at most, as of single tokens, is solved for apart; the others by one Cholesky, by their dual
where units are fewer, and where both are many by conjugate gradients.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, issparse

from tprprobe.analyses.decomposition.pair_counts import sizes

DENSE = 5000  # columns or units up to which a system is one array
TOLERANCE, MOST_STEPS = 1e-2, 100  # of conjugate gradients
FLAT = 1e-12  # cosine of a direction and its image, below which rounding decides
FLOOR = 1e-6  # variance of columns, of their mean square
LEAST = 1e-10  # penalty, of the mean variance of a column: what rounding needs
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

    def times(self, table: Any) -> Any:
        """XᵀX of a table of vectors of pairs."""
        if self._gram is not None:
            return self._gram @ table
        return self.counts.T @ (self.counts @ table)

    def centred(self, table: Matrix) -> Matrix:
        """XᵀX of a table, X centred."""
        return self.times(table) - np.outer(self.n * self.mean, self.mean @ table)

    def squares(self) -> Float64[np.ndarray, " pair"]:
        """The diagonal of XᵀX, X centred."""
        found = np.asarray(self.counts.power(2).sum(0)).reshape(-1)
        return np.maximum(found - self.n * self.mean**2, 0)

    def columns(self, block: Block) -> Any:
        """X of a block, [unit, column], sparse where its basis is."""
        return self._keep(("columns", block), lambda: self.counts @ block.basis)

    def mean_of(self, block: Block) -> Float64[np.ndarray, " column"]:
        return np.asarray(block.basis.T @ self.mean)

    def is_single(self, block: Block) -> bool:
        """True if a unit has one column of a block at most, so that its product is diagonal."""
        if not issparse(block.basis):
            return False
        return bool(np.diff(self.columns(block).indptr).max(initial=0) <= 1)

    def scale(self, block: Block) -> float:
        """The mean variance of a column, times n: the unit of penalties."""
        return self._keep(("scale", block), lambda: self._scale(block))

    def _scale(self, block: Block) -> float:
        if issparse(block.basis):
            squares = float(self.columns(block).power(2).sum())
        elif block.width <= self.n:
            squares = float(np.trace(self.product(block, block)))
        else:
            squares = float(np.sum(self.columns(block) ** 2))
        mean = self.mean_of(block)
        varying = squares - self.n * float(mean @ mean)
        return max(varying, FLOOR * squares, LEAST) / max(1, block.width)

    def product(self, one: Block, other: Block) -> Any:
        """xᵀx of two blocks, sparse where most of it is 0."""
        return self._keep((one, other), lambda: self._multiply(one, other))

    def _multiply(self, one: Block, other: Block) -> Any:
        if (other, one) in self._kept:
            return self._kept[other, one].T
        if not issparse(other.basis):
            return one.basis.T @ self._keep(("image", other), lambda: self.times(other.basis))
        if not issparse(one.basis):
            return self.product(other, one).T
        found = csr_array(self.columns(one).T @ self.columns(other))
        return found.toarray() if found.nnz > FULL * np.prod(sizes(found)) else found

    def system(self, blocks: Sequence[Block]) -> Matrix:
        """xᵀx of a column of ones and of blocks side by side."""
        ends = np.cumsum([1, *(each.width for each in blocks)])
        found = np.empty((ends[-1], ends[-1]))
        found[0, 0] = self.n
        for i, one in enumerate(blocks):
            rows = slice(ends[i], ends[i + 1])
            found[0, rows] = found[rows, 0] = self.n * self.mean_of(one)
            for j, other in enumerate(blocks[: i + 1]):
                columns = slice(ends[j], ends[j + 1])
                found[rows, columns] = product = dense(self.product(one, other))
                found[columns, rows] = product.T
        return found

    def beside(self, blocks: Sequence[Block], other: Block) -> list[Any]:
        """xᵀx of a column of ones, and of blocks, by another block."""
        return [self.n * self.mean_of(other)[None], *(self.product(b, other) for b in blocks)]

    def solver(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> "Solver":
        """The inverse of the system of blocks with these penalties."""
        return self._keep(("solver", *blocks, *lambdas), lambda: Solver(self, blocks, lambdas))

    def addition(
        self, blocks: Sequence[Block], lambdas: Sequence[float], last: Block
    ) -> "Addition":
        """What a last block adds to others with these penalties."""
        key = ("addition", last, *blocks, *lambdas)
        if key not in self._kept:
            for each in [each for each in self._kept if each[0] == "addition"]:
                del self._kept[each]
        return self._keep(key, lambda: Addition(self, blocks, lambdas, last))

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
        widest = max(singles, key=lambda i: blocks[i].width, default=None)
        self.others = [i for i in range(len(blocks)) if i != widest]
        others = [blocks[i] for i in self.others]
        self.widths = [1, *(each.width for each in blocks)]
        penalty = np.repeat(
            [0, *(lambdas[i] for i in self.others)], [1, *(b.width for b in others)]
        )
        self.widest = widest
        system = grams.system(others)
        system[np.diag_indices(len(system))] += penalty
        if widest is not None:
            single = blocks[widest]
            squares = np.asarray(grams.columns(single).power(2).sum(0)).reshape(-1)
            self.inverse = 1 / (squares + lambdas[widest])
            self.beside = grams.beside(others, single)
            ends = np.cumsum([0, 1, *(each.width for each in others)])
            for i, one in enumerate(self.beside):
                shrunk = _scale_columns(one, self.inverse)
                for j, other in enumerate(self.beside[: i + 1]):
                    product = dense(shrunk @ other.T)
                    system[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] -= product
                    if i != j:
                        system[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] -= product.T
        self.factor = _factor(system)

    def apply(self, right: Matrix) -> Matrix:
        """The solution for right sides, rows of ones and of blocks in their order."""
        if self.widest is None:
            return cho_solve(self.factor, right, check_finite=False)
        rows = _split(right, self.widths)
        single = rows.pop(1 + self.widest)
        shrunk = single * self.inverse[:, None]
        rest = np.concatenate([r - h @ shrunk for r, h in zip(rows, self.beside, strict=True)])
        found = cho_solve(self.factor, rest, overwrite_b=True, check_finite=False)
        rows = _split(found, [len(each) for each in rows])
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
        self.beside = np.concatenate([dense(each) for each in grams.beside(blocks, last)])
        self.turned = self.solver.apply(self.beside)
        self.left = dense(grams.product(last, last)) - self.beside.T @ self.turned

    def solve(self, main: Matrix, own: Matrix, size: float, kept: Any) -> tuple[Matrix, Matrix]:
        """The coefficients of the others and of the columns ``kept`` of the last one, from right sides."""
        system = self.left[np.ix_(kept, kept)] if kept is not None else self.left.copy()
        system[np.diag_indices(len(system))] += size
        turned = self.turned if kept is None else self.turned[:, kept]
        right = (own if kept is None else own[kept]) - turned.T @ main
        found = cho_solve(_factor(system), right, overwrite_b=True, check_finite=False)
        return self.solver.apply(main) - turned @ found, found


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
        """XᵀE less what a table predicts, centred."""
        outer = np.outer(self.n * self.grams.mean, self.mean)
        return self.cross - outer - self.grams.centred(table)

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
        beside = sum(w for b, w in zip(main, widths, strict=False) if not self.grams.is_single(b))
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
            return _split(found, [1, *widths])[1:]
        addition = self.grams.addition(main, lambdas[:-1], last)
        found, of_last = addition.solve(right, own, lambdas[-1], kept)
        return [*_split(found, [1, *widths[:-1]])[1:], of_last]

    def _right(self, block: Block) -> Matrix:
        if block not in self._rights:
            self._rights[block] = np.asarray(block.basis.T @ self.cross)
        return self._rights[block]

    def _solve_dual(self, blocks: Sequence[Block], lambdas: Sequence[float]) -> list[Matrix]:
        """Λ⁻¹ (c − xᵀ (x Λ⁻¹ xᵀ + I)⁻¹ x Λ⁻¹ c), x centred."""
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
        inner = cho_solve(_factor(kernel), held - held.mean(0), check_finite=False)
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
        squares = [self._squares(each) - self.n * g.mean_of(each) ** 2 for each in blocks]
        diagonal = np.concatenate(squares)[:, None] + penalty
        small = sum(widths[:-1]) <= DENSE and blocks[:-1]
        solver = g.solver(blocks[:-1], lambdas[:-1]) if small else None

        def gather(table: Matrix) -> Matrix:
            return np.concatenate([each.basis.T @ table for each in blocks])

        def apply(v: Matrix) -> Matrix:
            return gather(g.centred(table_of(blocks, _split(v, widths)))) + penalty * v

        def precondition(rest: Matrix) -> Matrix:
            found = rest / diagonal
            if solver:
                main = np.concatenate([np.zeros_like(rest[:1]), rest[: -widths[-1]]])
                found[: -widths[-1]] = solver.apply(main)[1:]
            return found

        right = gather(self.cross - np.outer(self.n * g.mean, self.mean))
        found = conjugate_gradients(apply, right, precondition, MOST_STEPS, TOLERANCE)
        return _split(found, widths)

    def _squares(self, block: Block) -> Float64[np.ndarray, " column"]:
        if not issparse(block.basis):
            return np.diag(self.grams.product(block, block))
        return np.asarray(self.grams.columns(block).power(2).sum(0)).reshape(-1)


def table_of(blocks: Sequence[Block], coefficients: Sequence[Matrix]) -> Matrix:
    """V of the pairs of all parts: Σ basis · coefficients."""
    return sum((b.basis @ of for b, of in zip(blocks, coefficients, strict=True)), np.zeros((1, 1)))


def dense(matrix: Any) -> Matrix:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


def _scale_columns(matrix: Any, by: Float64[np.ndarray, " column"]) -> Any:
    return csr_array(matrix.multiply(by[None])) if issparse(matrix) else matrix * by


def _split(found: Matrix, widths: Sequence[int]) -> list[Matrix]:
    return np.split(found, np.cumsum(widths)[:-1])


def _factor(matrix: Matrix) -> Any:
    """The Cholesky factor of a symmetric positive matrix, which is overwritten."""
    return cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)


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
    x, rest = np.zeros_like(right), right.copy()
    direction = scaled = precondition(rest)
    size = _dots(rest, scaled)
    enough = tolerance**2 * size
    for _ in range(steps):
        active = size > enough
        if not active.any():
            break
        image = apply(direction)
        curve = _dots(direction, image)
        norms = [np.sqrt(_dots(each, each)) for each in (direction, image)]
        active &= curve > FLAT * norms[0] * norms[1]  # else it is a direction that the map ends
        if not active.any():
            break
        step = np.where(active, size / np.where(active, curve, 1.0), 0)
        x += step * direction
        rest = rest - step * image
        scaled = precondition(rest)
        new = _dots(rest, scaled)
        direction = scaled + np.where(active, new / np.maximum(size, 1e-300), 0) * direction
        size = np.where(active, new, 0)
    return x


def _dots(one: Matrix, other: Matrix) -> Float64[np.ndarray, " column"]:
    """The products of like columns."""
    return np.einsum("ij,ij->j", one, other)
