"""Variances of random components of states, from products of states of different blocks; `components` has the definition and sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int
from scipy import stats
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array, hstack

from tprprobe.statistics import Interval

N_TRACES, TRACED_UNITS = (
    (16, 128),
    500_000,
)  # random vectors of every component, fewer of many units
N_TABLES = 64  # random tables, that say how much what vectors share by chance changes an estimate
TOLERANCE = 1e-8  # of eigenvalues of columns that depend on each other
LEVERAGE = 1e-6  # that a block lacks of 1, at least
SHRINKAGE = 1.0
MOST_GROWN = 0.5  # of the variance at a share, relative to the share: the interval ends at most at four times it
MOST_SPREAD = 2.0  # relative variance of the squared lengths of normal vectors, which is largest in one dimension

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
    """Columns X of a random component X V, and the weights W of its kernel X W Xᵀ; ``is_measured``: the share is its own.

    The vectors of columns of one name (a filler, a role), by number in ``names``, may be alike in length.
    """

    columns: Columns
    weights: Float64[np.ndarray, " column"]
    is_measured: bool
    names: Sequence[Int[np.ndarray, " column"]] = ()

    @classmethod
    def random(
        cls,
        columns: csr_array,
        is_measured: bool = False,
        names: Sequence[Int[np.ndarray, " column"]] = (),
    ) -> "Component":
        """A component of many columns: W = 1 / (count + SHRINKAGE), where an entry counts by its square over that of a typical one."""
        squares = columns.power(2)
        counts = np.asarray(squares.sum(0)).ravel() * squares.sum() / max(squares.power(2).sum(), 1e-300)  # fmt: skip
        return cls(columns, 1 / (counts + SHRINKAGE), is_measured, names)

    @classmethod
    def fixed(cls, basis: Basis) -> "Component":
        """A component of few columns, of which an orthonormal basis is measured: its share is exact for any V."""
        return cls(basis.all_rows(), np.ones(len(basis)), True)

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
    """Products of each block with the other blocks, for every column of states; what the products of two blocks are made of: X_bᵀ r_b,
    Q_bᵀ r_b and G_bᵀ r_b.
    """

    sums: Float64[np.ndarray, "block d"]
    columns: list[Float64[np.ndarray, "column d"]]
    fits: list[Float64[np.ndarray, "axis d"]]
    corrections: list[Float64[np.ndarray, "axis d"]]


class Kernel:
    """Products r_aᵀ (P K P)_ab r_b of blocks with K = X W Xᵀ less its diagonal D, so that a unit is never compared with itself:
    (P K P)_aa = K_aa + Q_a G_a + G_aᵀ Q_aᵀ, G_a = ½ Qᵀ K Q Q_aᵀ − (Qᵀ K)_a. Only products with X_a and Q_a of one block are made.
    """

    def __init__(self, component: Component, projection: Projection):
        columns, root = component.columns, np.sqrt(component.weights)
        is_sparse, rows = isinstance(columns, csr_array), projection.rows
        x = columns @ diags_array(root) if is_sparse else columns * root
        self.component, self.projection, self.x = component, projection, x
        self.own = np.asarray((x * x).sum(1)).reshape(-1, 1)
        self.size = float((columns * columns).sum())
        self.along_basis = np.asarray(rows.T @ x) if is_sparse else None  # fixed ones are orthogonal to Q  # fmt: skip
        self.of_basis = -rows.T @ (self.own * rows)
        if self.along_basis is not None:
            self.of_basis += self.along_basis @ self.along_basis.T

    def multiply(self, residuals: Residuals) -> Products:
        """The products of residuals."""
        blocks = self.projection.blocks
        inner = [self.x[units].T @ residuals.states[units] for units in blocks]
        own_fits = [self._fit_own(units, residuals.states) for units in blocks]
        total = np.sum(inner, 0)
        shared, sums, corrections = self._along(total) - np.sum(own_fits, 0), [], []
        for units, inside, own_fit, fit, left_out_fit in zip(blocks, inner, own_fits, residuals.fits, residuals.left_out_fits, strict=True):  # fmt: skip
            r, left_out = residuals.states[units], residuals.left_out[units]
            left_out_inside = self.x[units].T @ left_out
            correction = self.of_basis @ fit / 2 - self._along(inside) + own_fit
            left_out_correction = self.of_basis @ left_out_fit / 2 - self._along(left_out_inside)
            left_out_correction += self._fit_own(units, residuals.left_out)
            product = (inside * (total - left_out_inside)).sum(0)
            product -= (self.own[units] * r * (r - left_out)).sum(0)
            product -= (fit * (shared + left_out_correction) + correction * left_out_fit).sum(0)
            sums.append(product)
            corrections.append(correction)
        return Products(np.array(sums), inner, residuals.fits, corrections)

    def _along(self, inner: States) -> Any:
        """Qᵀ X times a matrix"""
        return 0.0 if self.along_basis is None else self.along_basis @ inner

    def _fit_own(self, units: slice, states: States) -> Float64[np.ndarray, "axis d"]:
        """Q_aᵀ D s"""
        return self.projection.rows[units].T @ (self.own[units] * states[units])


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of components beyond a basis, with which states are measured; units lie block by block."""

    projection: Projection
    kernels: Sequence[Kernel]
    expected: Float64[np.ndarray, "component component block"]  # products of drawn components
    sizes: Float64[np.ndarray, "component block"]  # of drawn components
    tables: Float64[
        np.ndarray, "component draw"
    ]  # products of tables of rank one of the component that has names
    table_sizes: Float64[np.ndarray, " draw"]

    @classmethod
    def draw(cls, basis: Basis, components: Sequence[Component], blocks: Sequence[slice], seed: int) -> "Moments":  # fmt: skip
        """The moments, by random vectors of every column."""
        rng, projection = np.random.default_rng(seed), Projection.prepare(basis, blocks)
        n = len(projection.rows)
        n_traces = int(np.clip(TRACED_UNITS // n, *N_TRACES))
        drawn = [component.draw(rng, n_traces) for component in components]
        drawn += [component.draw_tables(rng) for component in components if component.names]
        residuals = projection.apply(np.hstack(drawn))
        ends, n_drawn = np.arange(len(components)) * n_traces, len(components) * n_traces
        sizes = np.array([(residuals.states[units] ** 2).sum(0) for units in blocks])
        sizes *= n / max(1, n - len(basis))
        kernels = [Kernel(component, projection) for component in components]
        sums = [kernel.multiply(residuals).sums for kernel in kernels]
        tables = np.array([block_sums[:, n_drawn:].sum(0) for block_sums in sums])
        expected, mean_sizes = (np.add.reduceat(numbers[..., :n_drawn], ends, axis=-1).swapaxes(-1, -2) / n_traces for numbers in (np.array(sums), sizes))  # fmt: skip
        return cls(projection, kernels, expected, mean_sizes, tables, sizes[:, n_drawn:].sum(0))

    def measure(self, states: States) -> Interval:
        """The share of the variance of centred states that the measured components carry, NaN where its interval would hold all
        shares, as where no column lies in two blocks.
        """
        residuals, blocks = self.projection.apply(states), self.projection.blocks
        products = [kernel.multiply(residuals) for kernel in self.kernels]
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
        totals = np.array([(states[units] ** 2).sum() for units in blocks])
        share = target @ variances / totals.sum()
        misfit = weights @ (sums - np.einsum("klb,l->kb", self.expected, variances))
        influence = 2 * misfit + variances @ (measured[:, None] * self.sizes) - share * totals
        gram = np.sum([weight * _multiply_blocks(kernel_products) for weight, kernel_products in zip(weights, products, strict=True)], 0)  # fmt: skip
        of_blocks, of_names = _variance(influence, gram), 0.0
        for kernel, kernel_products in zip(self.kernels, products, strict=True):
            if kernel.component.is_measured and kernel.component.names:
                error = np.var(weights @ self.tables - self.table_sizes)
                of_names += error * _square(kernel, kernel_products)
                of_names += sum(_NamedProducts.multiply(kernel, kernel_products, names).variance() for names in kernel.component.names)  # fmt: skip
        square, df = totals.sum() ** 2, len(blocks) - 1
        if not of_blocks * stats.t.ppf(0.975, df) ** 2 < square:
            return Interval(np.nan, np.nan, np.nan)
        low, high = _ends(share, of_blocks / square, of_names / square, df)
        return Interval(float(share), low, min(high, max(1.0, float(share))), df)


def _ends(share: float, of_blocks: float, of_names: float, df: int) -> tuple[float, float]:
    """The ends of the interval: low = share − t √(B + N); high is the largest s that a test does not refuse, (share − s)² ≤ t² (B + κ s²),
    as what vectors add to the variance, N = κ share², grows with s².
    """
    t = stats.t.ppf(0.975, df)
    low = share - t * np.sqrt(of_blocks + of_names)
    if share <= 0:
        return float(low), float(2 * share - low)
    grown = min(MOST_GROWN, t**2 * of_names / share**2)
    root = np.sqrt(share**2 - (1 - grown) * (share**2 - t**2 * of_blocks))
    return float(low), float((share + root) / (1 - grown))


def _multiply_blocks(products: Products) -> Float64[np.ndarray, "block block"]:
    """The products of all pairs of blocks."""
    inner, fit, correction = (_flatten(matrices) for matrices in (products.columns, products.fits, products.corrections))  # fmt: skip
    cross = fit @ correction.T
    return inner @ inner.T + cross + cross.T


def _flatten(matrices: Sequence[np.ndarray]) -> Float64[np.ndarray, "block number"]:
    return np.array([matrix.ravel() for matrix in matrices])


def _square(kernel: Kernel, products: Products) -> float:
    """tr C² of the covariance C of the vectors of columns, from products of the first blocks and of the others."""
    x, covariances = kernel.x, []
    halves = np.array_split(np.arange(len(products.columns)), 2)
    for half in halves:
        inner = [products.columns[block] for block in half]
        sizes = np.array([np.asarray((columns * columns).sum(0)).ravel() for columns in (x[kernel.projection.blocks[block]] for block in half)])  # fmt: skip
        total, size = np.sum(inner, 0), sizes.sum(0)
        scale = ((size**2 - (sizes**2).sum(0)) / kernel.component.weights).sum()
        covariances.append((total.T @ total - sum(block.T @ block for block in inner)) / scale)
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
        x, weights = kernel.x, kernel.component.weights
        blocks = kernel.projection.blocks
        sizes = np.array([np.asarray((x[units] * x[units]).sum(0)).ravel() for units in blocks])
        size = sizes.sum(0)
        of_name = csr_array((np.ones(len(size)), (names, np.arange(len(size)))))
        inner = np.stack(products.columns, 1)
        inner_products = (inner @ inner.transpose(0, 2, 1)).reshape(len(size), -1)
        measured = (size**2 - (sizes**2).sum(0)) / weights
        n = len(blocks)
        return cls((of_name @ inner_products).reshape(-1, n, n), of_name @ measured, of_name @ (size / weights))  # fmt: skip

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
        spread = ((deviations**2).sum() - sum(noise)) / expected
        spread = np.clip(spread, 0, MOST_SPREAD * (sums.sum() / self.measured.sum()) ** 2)
        return float(spread * ((self.targets.sum() * share - self.targets) ** 2).sum())


def _variance(influence: np.ndarray, gram: np.ndarray) -> float:
    """The variance of a U-statistic over blocks: the variance of its linear part counts the products of pairs twice (Efron & Stein 1981)."""
    n = len(influence)
    products = gram[~np.eye(n, dtype=bool)]
    pairs = 2 * ((products - products.mean()) ** 2).sum()
    linear = n / (n - 1) * ((influence - influence.mean()) ** 2).sum()
    return float(max(pairs, linear - pairs))
