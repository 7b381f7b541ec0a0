"""Ridge regression of vectors on blocks of columns, an intercept beside: one penalty a block, one Cholesky.

Columns are sums of pairs, so that X, XᵀE and the means are all that a fit needs. Of fewer columns than
units the normal equations are solved, of more their dual; where both are many, conjugate gradients.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, hstack, issparse

DENSE = 5000  # columns or units up to which a system is one array
TOLERANCE, MOST_STEPS = 3e-3, 100  # of conjugate gradients
FLAT = 1e-12  # cosine of a direction and its image, below which rounding decides
FLOOR = 1e-6  # variance of columns, of their mean square
DEAR = 16  # what a number of a sparse array costs, one of a dense array being 1
LEAST = 1e-10  # penalty, of the mean variance of a column: what rounding needs

Matrix = Float64[np.ndarray, "_row _column"]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of a regression that share a penalty: sums of the pairs of one part of a design."""

    name: str
    part: int
    basis: Any  # [pair, column], an array or sparse

    @property
    def width(self) -> int:
        return int(self.basis.shape[1])


@dataclass(frozen=True, eq=False)
class Regression:
    """Units to fit to: X of every part of a design, and of their vectors XᵀE and ē."""

    counts: Sequence[csr_array]
    cross: Sequence[Float64[np.ndarray, "_pair d_model"]]
    mean: Float64[np.ndarray, " d_model"]
    _grams: dict[Any, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return int(np.shape(self.counts[0])[0])

    @functools.cached_property
    def mean_counts(self) -> list[Float64[np.ndarray, " pair"]]:
        """x̄ of every part."""
        return [np.asarray(x.sum(0)).reshape(-1) / max(1, self.n) for x in self.counts]

    def scale(self, block: Block) -> float:
        """The mean variance of a column, times n: the unit of penalties."""
        if ("scale", block) not in self._grams:
            mean = self._mean(block)
            if issparse(block.basis) or block.width > min(self.n, DENSE):
                x = self._columns(block)
                squares = float(x.power(2).sum() if issparse(x) else np.sum(x**2))
                found = squares - self.n * float(mean @ mean)
            else:
                found = float(np.trace(self._product(block, block)))
                squares = found + self.n * float(mean @ mean)
            least = max(FLOOR * squares, LEAST)  # of columns that are constant
            self._grams["scale", block] = max(found, least) / max(1, block.width)
        return self._grams["scale", block]

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
        kept = np.arange(blocks[-1].width) if kept is None else kept
        widths = [*(each.width for each in blocks[:-1]), len(kept)]
        scaled = [
            max(p, LEAST) * self.scale(each) for p, each in zip(penalties, blocks, strict=True)
        ]
        penalty, k = np.repeat(scaled, widths), sum(widths)
        right = self._right(blocks, kept)
        if k <= min(self.n, DENSE):
            found = self._solve_normal(blocks, kept, penalty, right)
        elif self.n <= DENSE:
            found = self._solve_dual(blocks, kept, penalty, right)
        else:
            found = self._solve_stepwise(blocks, kept, penalty, right)
        return np.split(found, np.cumsum(widths)[:-1])

    def multiply(self, part: int, tables: Mapping[int, Matrix]) -> Matrix:
        """XᵀY of a part, centred, where Y is what tables of vectors of parts' pairs predict."""
        found = np.zeros_like(self.cross[part])
        for other, table in tables.items():
            found += self._spread(part, other, table)
        return found

    def _spread(self, part: int, other: int, basis: Any) -> Matrix:
        """XᵀX of two parts' pairs, centred, times columns of the other's."""
        if self._is_small(part, other):
            return np.asarray((basis.T @ self._scatter(part, other).T).T)
        if part == other and self._is_short(part):
            found = self._pair_gram(part) @ basis
        else:
            found = self.counts[part].T @ (self.counts[other] @ basis)
        mean = basis.T @ self.mean_counts[other]
        return np.asarray(found) - self.n * np.outer(self.mean_counts[part], mean)

    def _scatter(self, part: int, other: int) -> Matrix:
        if (part, other) not in self._grams:
            found = (self.counts[part].T @ self.counts[other]).toarray()
            found -= np.outer(self.n * self.mean_counts[part], self.mean_counts[other])
            self._grams[part, other] = found
        return self._grams[part, other]

    def squares(self, part: int) -> Float64[np.ndarray, " pair"]:
        """The diagonal of XᵀX of a part, centred."""
        found = np.asarray(self.counts[part].power(2).sum(0)).reshape(-1)
        return np.maximum(found - self.n * self.mean_counts[part] ** 2, 0)

    def _columns(self, block: Block) -> Any:
        """X of a block, [unit, column], sparse where its basis is."""
        x = self.counts[block.part] @ block.basis
        return csr_array(x) if issparse(x) else x

    def _mean(self, block: Block) -> Float64[np.ndarray, " column"]:
        return np.asarray(block.basis.T @ self.mean_counts[block.part])

    def _right(self, blocks: Sequence[Block], kept: np.ndarray) -> Matrix:
        found = []
        for each in blocks:
            c = np.asarray(each.basis.T @ self.cross[each.part])
            found.append(c - self.n * np.outer(self._mean(each), self.mean))
        found[-1] = found[-1][kept]
        return np.concatenate(found)

    def _solve_normal(
        self, blocks: Sequence[Block], kept: np.ndarray, penalty: np.ndarray, right: Matrix
    ) -> Matrix:
        """(g + Λ)⁻¹ c; only the lower half of g is made."""
        for key in [key for key in self._grams if not {*_blocks_of(key)} <= {*blocks}]:
            del self._grams[key]  # products of blocks that are not in use
        last = kept if len(kept) < blocks[-1].width else slice(None)
        columns = [*[slice(None)] * (len(blocks) - 1), last]
        ends = np.cumsum([0, *(block.width for block in blocks[:-1]), len(kept)])
        system = np.empty((len(penalty), len(penalty)))
        for i, one in enumerate(blocks):
            for j, other in enumerate(blocks[: i + 1]):
                product = self._product(one, other)[columns[i]][:, columns[j]]
                system[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = product
        system[np.diag_indices(len(system))] += penalty
        return _solve(system, right)

    def _product(self, one: Block, other: Block) -> Matrix:
        """xᵀx of two blocks, centred."""
        if (one, other) not in self._grams:
            small = self._is_small(one.part, other.part)
            if small or not (issparse(one.basis) and issparse(other.basis)):
                if issparse(other.basis) and not small:
                    found = (other.basis.T @ self._image(one, other.part)).T
                else:
                    found = one.basis.T @ self._image(other, one.part)
            else:
                found = (self._columns(one).T @ self._columns(other)).toarray()
                found -= np.outer(self.n * self._mean(one), self._mean(other))
            self._grams[one, other] = np.asarray(found)
        return self._grams[one, other]

    def _image(self, block: Block, part: int) -> Matrix:
        """XᵀX of a part's pairs and those of a block, centred, times its basis."""
        if (block, part) not in self._grams:
            self._grams[block, part] = self._spread(part, block.part, block.basis)
        return self._grams[block, part]

    def _is_small(self, part: int, other: int) -> bool:
        """True if XᵀX as one array is no dearer to multiply by than X and Xᵀ."""
        one, two = self.counts[part], self.counts[other]
        return np.shape(one)[1] * np.shape(two)[1] <= DEAR * (one.nnz + two.nnz)

    def _is_short(self, part: int) -> bool:
        """True if XᵀX has hardly more entries than X, as for single tokens."""
        return self.counts[part].nnz <= 4 * self.n

    def _pair_gram(self, part: int) -> csr_array:
        if part not in self._grams:
            self._grams[part] = csr_array(self.counts[part].T @ self.counts[part])
        return self._grams[part]

    def _solve_dual(
        self, blocks: Sequence[Block], kept: np.ndarray, penalty: np.ndarray, right: Matrix
    ) -> Matrix:
        """Λ⁻¹ (c − xᵀ (x Λ⁻¹ xᵀ + I)⁻¹ x Λ⁻¹ c)."""
        x, mean = self._join(blocks, kept)
        shrunk = right / penalty[:, None]
        kernel, shift = np.eye(self.n), x @ (mean / penalty)
        start = 0
        for each in _split(x, blocks, kept):
            weight = penalty[start]
            product = each @ each.T
            kernel += np.asarray(product.todense() if issparse(product) else product) / weight
            start += each.shape[1]
        kernel += (mean @ (mean / penalty)) - shift[:, None] - shift[None, :]
        inner = _solve(kernel, x @ shrunk - mean @ shrunk)
        back = x.T @ inner - np.outer(mean, inner.sum(0))
        return shrunk - back / penalty[:, None]

    def _solve_stepwise(
        self, blocks: Sequence[Block], kept: np.ndarray, penalty: np.ndarray, right: Matrix
    ) -> Matrix:
        x, mean = self._join(blocks, kept)
        turned = csr_array(x.T) if issparse(x) else x.T
        squares = x.power(2).sum(0) if issparse(x) else np.sum(x**2, 0)
        diagonal = np.asarray(squares).reshape(-1) - self.n * mean**2 + penalty
        return conjugate_gradients(
            lambda v: turned @ (x @ v) - np.outer(mean, self.n * (mean @ v)) + penalty[:, None] * v,
            right,
            lambda rest: rest / diagonal[:, None],
            MOST_STEPS,
            TOLERANCE,
        )

    def _join(self, blocks: Sequence[Block], kept: np.ndarray) -> tuple[Any, np.ndarray]:
        columns = [self._columns(each) for each in blocks]
        columns[-1] = columns[-1][:, kept]
        means = [self._mean(each) for each in blocks]
        means[-1] = means[-1][kept]
        if not all(map(issparse, columns)):
            columns = [np.asarray(c.todense()) if issparse(c) else c for c in columns]
            return np.hstack(columns), np.concatenate(means)
        return csr_array(hstack(columns, format="csr")), np.concatenate(means)


def _blocks_of(key: Any) -> list[Block]:
    return [each for each in key if isinstance(each, Block)] if isinstance(key, tuple) else []


def _split(x: Any, blocks: Sequence[Block], kept: np.ndarray) -> list[Any]:
    ends = np.cumsum([*(each.width for each in blocks[:-1]), len(kept)]).tolist()
    return [x[:, start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _solve(matrix: Matrix, right: Matrix) -> Matrix:
    """A⁻¹ B of a symmetric positive A, which is overwritten."""
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, right, check_finite=False)


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
