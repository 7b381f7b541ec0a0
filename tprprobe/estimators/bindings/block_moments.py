"""Variances of random components of states, from products of states of different blocks; `components` has the definition and sources."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy import stats
from scipy.sparse import csr_array

from tprprobe.estimators.bindings.block_kernels import (
    TOLERANCE,
    Basis,
    Component,
    Kernel,
    Products,
    Projection,
    States,
)
from tprprobe.statistics import Interval

N_TRACES = (16, 128)  # random vectors of every component
TRACED = 2**24  # numbers of its columns times these
MOST_GROWN = 0.5  # of the variance at a share, relative to the share: the interval ends at most at four times it
MOST_SPREAD = 2.0  # relative variance of the squared lengths of normal vectors, which is largest in one dimension


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of components beyond a basis, with which states are measured; units lie block by block."""

    projection: Projection
    kernels: Sequence[Kernel]  # those of random components beyond the fixed ones, too
    expected: Float64[np.ndarray, "component component block"]  # products of drawn components
    sizes: Float64[np.ndarray, "component block"]  # of drawn components
    # products of tables of rank one of the component that has names
    tables: Float64[np.ndarray, "component draw"]
    table_sizes: Float64[np.ndarray, " draw"]

    @classmethod
    def draw(cls, basis: Basis, components: Sequence[Component], blocks: Sequence[slice], seed: int, inner: Basis | None = None) -> "Moments":  # fmt: skip
        """The moments, by random vectors of every column; ``inner`` spans the basis and the fixed component, whose vectors are
        arbitrary: products by kernels of random components are beyond it.
        """
        rng, projection = np.random.default_rng(seed), Projection.prepare(basis, blocks)
        beyond = Projection.prepare(inner, blocks) if inner else projection
        n = len(projection.rows)
        largest = max(component.columns.size for component in components)
        n_traces = int(np.clip(TRACED // largest, *N_TRACES))
        kernels = [Kernel(component, beyond if component.is_random else projection) for component in components]  # fmt: skip
        scale = n / max(1, n - len(basis))

        def multiply(states: States) -> tuple[np.ndarray, np.ndarray]:
            """Products of drawn states by kernel and block, and their squares by block."""
            residuals = projection.apply(states).states
            squares = [(residuals[units] ** 2).sum(0) for units in blocks]
            return np.array([p.sums for p in _multiply(kernels, states)]), np.array(squares) * scale

        drawn = [multiply(component.draw(rng, n_traces)) for component in components]
        expected = np.stack([sums.mean(-1) for sums, _ in drawn], 1)
        sizes = np.array([component.scale * squares.mean(-1) for component, (_, squares) in zip(components, drawn, strict=True)])  # fmt: skip
        tables, table_sizes = np.zeros((len(kernels), 1)), np.zeros(1)
        for component in components:
            if component.names:
                sums, squares = multiply(component.draw_tables(rng))
                tables, table_sizes = sums.sum(1), component.scale * squares.sum(0)
        return cls(projection, kernels, expected, sizes, tables, table_sizes)

    def measure(self, states: States) -> Interval:
        """The share of the variance of centred states that the measured components carry, NaN where its interval would hold all
        shares, as where no column lies in two blocks.
        """
        blocks, products = self.projection.blocks, _multiply(self.kernels, states)
        sums = np.array([kernel_products.sums.sum(1) for kernel_products in products])
        system = self.expected.sum(-1)
        is_empty = self.sizes.sum(1) <= [TOLERANCE * kernel.size for kernel in self.kernels]
        scale = np.where(is_empty, 0, np.sqrt(np.abs(np.diag(system))))
        measured = np.array([kernel.component.is_measured for kernel in self.kernels])
        if not states.any() or np.any(scale[measured] == 0):
            return Interval(np.nan, np.nan, np.nan)
        unit = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        inverse = unit[:, None] * np.linalg.pinv(unit[:, None] * system * unit, rcond=1e-6) * unit
        target = measured * self.sizes.sum(1)
        variances, weights = inverse @ sums.sum(1), target @ inverse
        n = len(states)
        totals = np.array([(states[units] ** 2).sum() for units in blocks]) * n / (n - 1)
        share = target @ variances / totals.sum()
        misfit = weights @ (sums - np.einsum("klb,l->kb", self.expected, variances))
        influence = 2 * misfit + variances @ (measured[:, None] * self.sizes) - share * totals
        gram = np.sum([weight * _multiply_blocks(kernel, kernel_products) for weight, kernel, kernel_products in zip(weights, self.kernels, products, strict=True)], 0)  # fmt: skip
        of_blocks, of_names = _variance(influence, gram), 0.0
        df = len(blocks) - 1
        t = float(stats.t.ppf(0.975, df))
        for kernel, kernel_products, power in zip(self.kernels, products, variances * self.sizes.sum(1), strict=True):  # fmt: skip
            if kernel.component.is_measured and kernel.component.names:
                error = np.var(weights @ self.tables - self.table_sizes)
                of_names += error * _square(kernel, kernel_products)
                of_names += sum(_NamedProducts.multiply(kernel, kernel_products, names).variance() for names in kernel.component.names)  # fmt: skip
                if len(kernel.component.names) == 1:
                    of_names += (power * kernel.unmeasured / t) ** 2  # nothing to twice as much
        square = totals.sum() ** 2
        if not of_blocks * t**2 < square:
            return Interval(np.nan, np.nan, np.nan)
        low, high = _ends(share, of_blocks / square, of_names / square, t)
        return limit(Interval(float(share), low, min(1.0, high), df), 1.0)


def limit(share: Interval, maximum: float) -> Interval:
    """A share that cannot be larger than ``maximum``: an estimate beyond it errs by at least the excess, by which the lower end moves, too."""
    excess = max(0.0, share.value - maximum)
    return replace(share, value=share.value - excess, low=share.low - excess)


def _ends(share: float, of_blocks: float, of_names: float, t: float) -> tuple[float, float]:
    """The ends of the interval: low = share − t √(B + N); high is the largest s that a test does not refuse, (share − s)² ≤ t² (B + κ s²),
    as what vectors add to the variance, N = κ share², grows with s².
    """
    low = share - t * np.sqrt(of_blocks + of_names)
    if share <= 0:
        return float(low), float(2 * share - low)
    grown = min(MOST_GROWN, t**2 * of_names / share**2)
    root = np.sqrt(share**2 - (1 - grown) * (share**2 - t**2 * of_blocks))
    return float(low), float((share + root) / (1 - grown))


def _multiply(kernels: Sequence[Kernel], states: States) -> list[Products]:
    """The products of states by every kernel, beyond what it projects out."""
    residuals = {kernel.projection: kernel.projection.apply(states) for kernel in kernels}
    return [kernel.multiply(residuals[kernel.projection]) for kernel in kernels]


def _multiply_blocks(kernel: Kernel, products: Products) -> Float64[np.ndarray, "block block"]:
    """The products of all pairs of blocks."""
    n, inner = len(products.columns), products.columns
    gram = np.zeros((n, n))
    for i in range(n):
        of_block = kernel.add_up(inner, [i])
        gram[i, : i + 1] = [np.vdot(of_block[kernel.ids[j]], inner[j]) for j in range(i + 1)]
    fit, correction = (np.array([matrix.ravel() for matrix in matrices]) for matrices in (products.fits, products.corrections))  # fmt: skip
    cross = fit @ correction.T
    return gram + np.tril(gram, -1).T + cross + cross.T


def _square(kernel: Kernel, products: Products) -> float:
    """tr C² of the covariance C of the vectors of columns, from products of the first blocks and of the others."""
    squares, inner, covariances = kernel.squares, products.columns, []
    for half in np.array_split(np.arange(len(inner)), 2):
        sizes, total = squares[half], kernel.add_up(inner, half)
        scale = ((sizes.sum(0) ** 2 - (sizes**2).sum(0)) / kernel.component.weights).sum()
        covariances.append(
            (total.T @ total - sum(inner[i].T @ inner[i] for i in half)) / max(scale, 1e-300)
        )
    a, b = covariances
    return float(np.clip((a * b).sum(), 0, max(0.0, np.trace(a)) * max(0.0, np.trace(b))))  # fmt: skip


class _NamedProducts(NamedTuple):
    """Sums by the name (filler or role) of columns: products of all pairs of blocks, their expectation for vectors of length 1,
    and squares of the columns.
    """

    products: Float64[np.ndarray, "name block block"]
    measured: Float64[np.ndarray, " name"]
    targets: Float64[np.ndarray, " name"]

    @classmethod
    def multiply(cls, kernel: Kernel, products: Products, names: np.ndarray) -> "_NamedProducts":
        """The products of a kernel by names of its columns."""
        sizes, weights = kernel.squares, kernel.component.weights
        size = sizes.sum(0)
        of_name = csr_array((np.ones(len(size)), (names, np.arange(len(size)))))
        inner = np.stack([kernel.add_up(products.columns, [i]) for i in range(len(sizes))], 1)
        inner_products = (inner @ inner.transpose(0, 2, 1)).reshape(len(size), -1)
        measured = (size**2 - (sizes**2).sum(0)) / weights
        n = len(sizes)
        return cls((of_name @ inner_products).reshape(-1, n, n), of_name @ measured, kernel.component.scale * (of_name @ (size / weights)))  # fmt: skip

    def variance(self) -> float:
        """The variance of Σ t_f s_f, the sum of squares of a component, if it is estimated by T Σ m_f s_f / M.

        The squared lengths s_f of names vary by τ²: as much as their products vary beyond what blocks vary.
        """
        is_other = ~np.eye(self.products.shape[1], dtype=bool)
        sums = (self.products * is_other).sum(2)
        noise = [
            _variance(2 * block_sums, gram)
            for block_sums, gram in zip(sums, self.products, strict=True)
        ]
        share = self.measured / self.measured.sum()
        deviations = sums.sum(1) - share * sums.sum()
        expected = (self.measured**2 * (1 - 2 * share + (share**2).sum())).sum()
        max_spread = MOST_SPREAD * (sums.sum() / self.measured.sum()) ** 2
        is_known = expected > 0  # by a single name it is not
        spread = ((deviations**2).sum() - sum(noise)) / expected if is_known else max_spread
        spread = np.clip(spread, 0, max_spread)
        return float(spread * ((self.targets.sum() * share - self.targets) ** 2).sum())


def _variance(influence: np.ndarray, gram: np.ndarray) -> float:
    """The variance of a U-statistic over blocks: the variance of its linear part counts the products of pairs twice (Efron & Stein 1981)."""
    n = len(influence)
    products = gram[~np.eye(n, dtype=bool)]
    pairs = 2 * ((products - products.mean()) ** 2).sum()
    linear = n / (n - 1) * ((influence - influence.mean()) ** 2).sum()
    return float(max(pairs, linear - pairs))
