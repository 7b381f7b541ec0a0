"""Variances of random components of states, from products of states of different blocks; `components` has the definition and sources."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy import stats
from scipy.linalg import solve
from scipy.sparse import csr_array, diags_array, hstack

from tprprobe.statistics import Interval

N_TRACES, TRACED_UNITS = (
    (16, 128),
    500_000,
)  # random vectors of every component, fewer of many units
TOLERANCE = 1e-8  # of eigenvalues of columns that depend on each other
LEVERAGE = 1e-6  # that a block lacks of 1, at least
SHRINKAGE = 10.0

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
    used = values > TOLERANCE * max(1.0, values.max(initial=0.0))
    return axes[:, used] / np.sqrt(values[used])


@dataclass(frozen=True, eq=False)
class Component:
    """Columns X of a random component X V, and the weights W of its kernel X W Xᵀ; ``is_measured``: the share is its own."""

    columns: Columns
    weights: Float64[np.ndarray, " column"]
    is_measured: bool

    @classmethod
    def random(cls, columns: csr_array, is_measured: bool = False) -> "Component":
        """A component of many columns: W = 1 / (count + SHRINKAGE)."""
        counts = np.asarray(columns.power(2).sum(0)).ravel()
        return cls(columns, 1 / (counts + SHRINKAGE), is_measured)

    @classmethod
    def fixed(cls, basis: Basis) -> "Component":
        """A component of few columns, of which an orthonormal basis is measured: its share is exact for any V."""
        return cls(basis.all_rows(), np.ones(len(basis)), True)

    def draw(self, rng: np.random.Generator, n: int) -> States:
        """X V of random signs V."""
        return self.columns @ rng.choice([-1.0, 1.0], size=(self.columns.shape[1], n))  # pyright: ignore[reportOptionalSubscript]


@dataclass(frozen=True, eq=False)
class Residuals:
    """P S, the basis Q, and (I − Q_b Q_bᵀ)⁻¹ (P S)_b: the residuals of each block from the fit to all other blocks; ``fits``
    and ``left_out_fits`` are Q_bᵀ times both.
    """

    basis: Float64[np.ndarray, "unit axis"]
    states: States
    left_out: States
    blocks: Sequence[slice]
    fits: list[Float64[np.ndarray, "axis d"]]
    left_out_fits: list[Float64[np.ndarray, "axis d"]]

    @classmethod
    def project(cls, states: States, basis: Basis, blocks: Sequence[slice]) -> "Residuals":
        """(I − Q_b Q_bᵀ)⁻¹ (P S)_b = (P S)_b + Q_b (I − Q_bᵀ Q_b)⁻¹ Q_bᵀ (P S)_b."""
        rows = basis.all_rows()
        residuals = states - rows @ (rows.T @ states)
        left_out, fits, left_out_fits = residuals.copy(), [], []
        for units in blocks:
            q = rows[units]
            inner, fit = q.T @ q, q.T @ residuals[units]
            others = (1 + LEVERAGE) * np.eye(len(inner)) - inner
            correction = solve(others, fit, assume_a="pos")
            left_out[units] += q @ correction
            fits.append(fit)
            left_out_fits.append(fit + inner @ correction)
        return cls(rows, residuals, left_out, blocks, fits, left_out_fits)


def estimate(
    states: States,
    basis: Basis,
    components: Sequence[Component],
    blocks: Sequence[slice],
    seed: int,
) -> Interval:
    """The share of the variance of centred states that the measured components carry beyond a basis, NaN where its interval
    would hold all shares, as where no column lies in two blocks; units lie block by block.
    """
    rng = np.random.default_rng(seed)
    n_traces = int(np.clip(TRACED_UNITS // len(states), *N_TRACES))
    traces = [component.draw(rng, n_traces) for component in components]
    residuals = Residuals.project(np.hstack([states, *traces]), basis, blocks)
    ends = np.cumsum([0, states.shape[1], *(n_traces for _ in components)])
    sizes = np.array([[(residuals.states[units, a:b] ** 2).sum() / n_traces for units in blocks]
                      for a, b in itertools.pairwise(ends[1:])])  # fmt: skip
    sizes *= len(states) / max(1, len(states) - len(residuals.basis.T))
    sums = [_sum_products(component, residuals, ends) for component in components]
    products = np.array([moments for moments, _ in sums])  # of states, then of drawn components
    products[:, 1:] /= n_traces
    grams = np.array([gram for _, gram in sums])
    system = products[:, 1:].sum(-1)
    scale = np.sqrt(np.abs(np.diag(system)))
    if not states.any() or any(
        scale[k] == 0 for k, component in enumerate(components) if component.is_measured
    ):
        return Interval(np.nan, np.nan, np.nan)
    measured = np.array([component.is_measured for component in components])
    target = measured * sizes.sum(1)
    unit = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    inverse = unit[:, None] * np.linalg.pinv(unit[:, None] * system * unit, rcond=1e-6) * unit
    variances, weights = inverse @ products[:, 0].sum(-1), target @ inverse
    totals = np.array([(states[units] ** 2).sum() for units in blocks])
    share = target @ variances / totals.sum()
    misfit = weights @ (products[:, 0] - np.einsum("klb,l->kb", products[:, 1:], variances))
    influence = 2 * misfit + variances @ (measured[:, None] * sizes) - share * totals
    error = _standard_error(influence, np.tensordot(weights, grams, 1)) / totals.sum()
    half = stats.t.ppf(0.975, len(blocks) - 1) * error
    if not half < 1:
        return Interval(np.nan, np.nan, np.nan)
    return Interval(float(share), float(share - half), float(share + half), len(blocks) - 1)


def _sum_products(
    component: Component, residuals: Residuals, ends: np.ndarray
) -> tuple[Float64[np.ndarray, "part block"], Float64[np.ndarray, "block block"]]:
    """The products of each block with the other blocks, for every part of the states; for the first part, the products of all
    pairs of blocks.

    A product is r_aᵀ (P K P)_ab r_b with K = X W Xᵀ less its diagonal D, so that a unit is never compared with itself:
    (P K P)_aa = K_aa + Q_a G_a + G_aᵀ Q_aᵀ, G_a = ½ Qᵀ K Q Q_aᵀ − (Qᵀ K)_a, and X stays sparse.
    """
    columns, root = component.columns, np.sqrt(component.weights)
    x = columns @ diags_array(root) if isinstance(columns, csr_array) else columns * root
    own = np.asarray((x * x).sum(1)).reshape(-1, 1)
    q, r, left_out = residuals.basis, residuals.states, residuals.left_out
    of_basis = x @ (x.T @ q) - own * q
    g = q @ (q.T @ of_basis) / 2 - of_basis
    everywhere = x @ (x.T @ r) - own * r
    shared, width = q.T @ everywhere, ends[1]
    moments, rows = [], []
    for units, fit, fit_left_out in zip(residuals.blocks, residuals.fits, residuals.left_out_fits, strict=True):  # fmt: skip
        beside, block = g[units].T @ r[units], _drop_empty(x[units])
        inside = block @ (block.T @ left_out[units]) - own[units] * left_out[units]
        product = (r[units] * (everywhere[units] - inside)).sum(0)
        product -= (fit * (shared + g[units].T @ left_out[units]) + beside * fit_left_out).sum(0)
        moments.append(np.add.reduceat(product, ends[:-1]))
        matrices = (x[units].T @ r[units, :width], fit[:, :width], beside[:, :width])
        rows.append([matrix.ravel() for matrix in matrices])
    inner, fit, beside = (np.array(vectors) for vectors in zip(*rows, strict=True))
    cross = fit @ beside.T
    return np.array(moments).T, inner @ inner.T + cross + cross.T


def _drop_empty(columns: Columns) -> Columns:
    """The columns that are not empty."""
    if isinstance(columns, csr_array):
        return csr_array(columns[:, np.unique(columns.indices)])
    return columns


def _standard_error(influence: np.ndarray, gram: np.ndarray) -> float:
    """The standard error of a U-statistic over blocks: the variance of its linear part counts the products of pairs twice (Efron & Stein 1981)."""
    n = len(influence)
    products = gram[~np.eye(n, dtype=bool)]
    pairs = 2 * ((products - products.mean()) ** 2).sum()
    linear = n / (n - 1) * ((influence - influence.mean()) ** 2).sum()
    return float(np.sqrt(max(pairs, linear - pairs)))
