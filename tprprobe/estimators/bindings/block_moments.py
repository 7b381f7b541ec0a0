"""Variances of random components of states, from products of states of different blocks; `components` has the definition and sources."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy import stats
from scipy.sparse import csr_array, hstack

from tprprobe.statistics import Interval

N_TRACES = 12  # random vectors of every component
CELLS = 2**23  # numbers that are held at once
TOLERANCE = 1e-8  # of eigenvalues of columns that depend on each other
LEVERAGE = 1 - 1e-6  # of a block, at most
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

    def rows(self, units: slice) -> Float64[np.ndarray, "unit axis"]:
        return self.columns[units] @ self.transform

    def all_rows(self) -> Float64[np.ndarray, "unit axis"]:
        return self.rows(slice(None))


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

    def draw(self, rng: np.random.Generator) -> States:
        """X V of random signs V."""
        return self.columns @ rng.choice([-1.0, 1.0], size=(self.columns.shape[1], N_TRACES))  # pyright: ignore[reportOptionalSubscript]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals by block: the rows of Q and of P S, their coordinates Qᵀ (P S), and the same from the fit to all other blocks."""

    basis: Sequence[np.ndarray]
    states: Sequence[np.ndarray]
    coordinates: Sequence[np.ndarray]
    corrections: Sequence[np.ndarray]  # that fit leaves (P S)_b + Q_b times this of block b

    @classmethod
    def project(cls, states: States, basis: Basis, blocks: Sequence[slice]) -> "Residuals":
        """(I − Q_b Q_bᵀ)⁻¹ (P S)_b = (P S)_b + Q_b (I − Q_bᵀ Q_b)⁻¹ Q_bᵀ (P S)_b."""
        rows = [basis.rows(units) for units in blocks]
        fit = np.sum([q.T @ states[units] for q, units in zip(rows, blocks, strict=True)], 0)
        residuals = [states[units] - q @ fit for q, units in zip(rows, blocks, strict=True)]
        coordinates = [q.T @ residual for q, residual in zip(rows, residuals, strict=True)]
        corrections = []
        for q, coordinate in zip(rows, coordinates, strict=True):
            values, axes = np.linalg.eigh(q.T @ q)
            scale = 1 / (1 - values.clip(0, LEVERAGE))
            corrections.append(axes @ (scale[:, None] * (axes.T @ coordinate)))
        return cls(rows, residuals, coordinates, corrections)


def estimate(
    states: States,
    basis: Basis,
    components: Sequence[Component],
    blocks: Sequence[slice],
    seed: int,
) -> Interval:
    """The share of the variance of centred states that the measured components carry beyond a basis, NaN where no column
    lies in two blocks; units lie block by block.
    """
    rng = np.random.default_rng(seed)
    drawn = [component.draw(rng) for component in components]
    residuals = Residuals.project(np.hstack([states, *drawn]), basis, blocks)
    ends = np.cumsum([0, states.shape[1], *(N_TRACES for _ in components)])
    sizes = np.array([[(block[:, a:b] ** 2).sum() / N_TRACES for block in residuals.states]
                      for a, b in itertools.pairwise(ends[1:])])  # fmt: skip
    sizes *= len(states) / max(1, len(states) - len(basis))
    summed = [_sum_products(of, residuals, blocks, ends) for of in components]
    products = np.array([moments for moments, _ in summed])  # of states, then of drawn components
    products[:, 1:] /= N_TRACES
    grams = np.array([gram for _, gram in summed])
    system = products[:, 1:].sum(-1)
    scale = np.sqrt(np.abs(np.diag(system)))
    if not states.any() or any(scale[k] == 0 for k, of in enumerate(components) if of.is_measured):
        return Interval(np.nan, np.nan, np.nan)
    measured = np.array([of.is_measured for of in components])
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
    return Interval(float(share), float(share - half), float(share + half), len(blocks) - 1)


def _sum_products(
    component: Component,
    residuals: Residuals,
    blocks: Sequence[slice],
    ends: np.ndarray,
) -> tuple[Float64[np.ndarray, "part block"], Float64[np.ndarray, "block block"]]:
    """The products of each block with the other blocks, for every part of the states; for the first part, the products of all pairs of blocks."""
    n_blocks, n_parts, width = len(blocks), len(ends) - 1, int(ends[-1])
    moments, gram = np.zeros((n_parts, n_blocks)), np.zeros((n_blocks, n_blocks))
    for columns, weights in _chunks(component, max(1, CELLS // (n_blocks * width))):
        by_block = [columns[units].T for units in blocks]
        with_basis = [x @ q for x, q in zip(by_block, residuals.basis, strict=True)]
        shared, root = np.sum(with_basis, 0), np.sqrt(weights)[:, None]
        own, left_out = (
            [],
            [],
        )  # (P X)_bᵀ (P S)_b, of P X = X − Q Qᵀ X, and the same of left-out residuals
        for b, x in enumerate(by_block):
            q = residuals.basis[b]
            own.append(root * (x @ residuals.states[b] - shared @ residuals.coordinates[b]))
            leverage = with_basis[b] - shared @ (q.T @ q)
            left_out.append(own[-1] + root * (leverage @ residuals.corrections[b]))
        total = np.sum(own, 0)
        by_number = np.array([(a * (total - c)).sum(0) for a, c in zip(own, left_out, strict=True)])
        moments += np.add.reduceat(by_number, ends[:-1], axis=1).T
        flat = np.array([a[:, : ends[1]].ravel() for a in own])
        gram += flat @ flat.T
    return moments, gram


def _chunks(component: Component, size: int) -> Iterator[tuple[Columns, np.ndarray]]:
    """The columns, some at a time, and their weights."""
    columns = component.columns
    by_column = columns.tocsc() if isinstance(columns, csr_array) else columns
    for start in range(0, columns.shape[1], size):  # pyright: ignore[reportOptionalSubscript]
        chosen = slice(start, start + size)
        some = by_column[:, chosen]
        yield (csr_array(some) if isinstance(columns, csr_array) else some), component.weights[chosen]  # fmt: skip


def _standard_error(influence: np.ndarray, gram: np.ndarray) -> float:
    """The standard error of a U-statistic over blocks: the variance of its linear part counts the products of pairs twice (Efron & Stein 1981)."""
    n = len(influence)
    apart = gram[~np.eye(n, dtype=bool)]
    pairs = 2 * ((apart - apart.mean()) ** 2).sum()
    linear = n / (n - 1) * ((influence - influence.mean()) ** 2).sum()
    return float(np.sqrt(max(pairs, linear - pairs)))
