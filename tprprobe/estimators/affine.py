"""Affine maps in closed form, from moments that parts of the rows add up to: ŷ = x W + b, with a ridge penalty or none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigh

# Ridge penalties as multiples of the mean eigenvalue of the scatter of x; the first is none.
STRENGTHS = (0.0, *np.logspace(-8, 1, 10).tolist())
SMALLEST = 1e-12  # of the largest eigenvalue: below it a direction of x does not vary
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and scatter Σ (x − mean)(x − mean)ᵀ of vectors; those of parts add up."""

    count: int
    mean: Float64[np.ndarray, " width"]
    scatter: Float64[np.ndarray, "width width"]

    @classmethod
    def of(cls, vectors: Float64[np.ndarray, "row width"]) -> "Moments":
        mean = vectors.mean(0) if len(vectors) else np.zeros(vectors.shape[1])
        centered = vectors - mean
        return cls(len(vectors), mean, centered.T @ centered)

    def __add__(self, right: "Moments") -> "Moments":
        count = self.count + right.count
        if not count:
            return self
        difference = right.mean - self.mean
        scatter = self.scatter + right.scatter
        scatter += np.outer(difference, difference * (self.count * right.count / count))
        return Moments(count, self.mean + difference * (right.count / count), scatter)

    def project(
        self, columns: slice, target: slice, projection: Float64[np.ndarray, "d_in width"] | None
    ) -> tuple["Moments", slice, slice]:
        """Those of a projection of some columns, if any, with the target columns behind it, and where both stand then."""
        if projection is None:
            return self, columns, target
        across = projection.T @ self.scatter[columns, target]
        inside = projection.T @ self.scatter[columns, columns] @ projection
        mean = np.concatenate([self.mean[columns] @ projection, self.mean[target]])
        scatter = np.block([[inside, across], [across.T, self.scatter[target, target]]])
        width = projection.shape[1]
        return Moments(self.count, mean, scatter), slice(0, width), slice(width, None)

    def effective_rank(self, columns: slice) -> float:
        """The participation ratio (Σ λ)² / Σ λ² of the eigenvalues of these columns' scatter."""
        scatter = self.scatter[columns, columns]
        return float(np.trace(scatter) ** 2 / np.square(scatter).sum())


@dataclass(frozen=True, eq=False)
class Affine:
    """ẑ = vᵀ W + b for v the ``columns`` of a vector, or a projection of them, and z its ``target`` columns."""

    columns: slice
    target: slice
    weight: Float64[np.ndarray, "d_in d_out"]
    bias: Float64[np.ndarray, " d_out"]
    alpha: float = 0.0
    projection: Float64[np.ndarray, "d_column d_in"] | None = None

    def total(self, moments: Moments) -> float:
        """Σ |z − ẑ|² over all vectors that the moments are of."""
        moments, columns, target = moments.project(self.columns, self.target, self.projection)
        offset = moments.mean[target] - moments.mean[columns] @ self.weight - self.bias
        cross = moments.scatter[columns, columns] @ self.weight
        cross -= 2 * moments.scatter[columns, target]
        # tr(S_zz − 2 Wᵀ S_vz + Wᵀ S_vv W), which rounding may make negative
        scatter = np.trace(moments.scatter[target, target]) + np.sum(cross * self.weight)
        return float(max(scatter, 0.0) + moments.count * offset @ offset)


def fit_affine(
    moments: Moments, columns: slice, target: slice, strengths: Sequence[float] = (0.0,)
) -> list[Affine]:
    """W = (Sᵥᵥ + α I)⁻¹ Sᵥ_z, b = z̄ − v̄ W, one for each strength; of several best, the smallest W.

    The bias is not penalized; α, that of scikit-learn's Ridge, is strength × mean eigenvalue of Sᵥᵥ.
    """
    values, vectors = np.linalg.eigh(moments.scatter[columns, columns])
    varies = values > SMALLEST * values.max(initial=0.0)
    rotated = vectors.T @ moments.scatter[columns, target]
    fits = []
    for strength in strengths:
        alpha = strength * float(values.mean()) if strength else 0.0
        inverse = np.divide(1.0, values + alpha, out=np.zeros_like(values), where=varies)
        weight = vectors @ (inverse[:, None] * rotated)
        bias = moments.mean[target] - moments.mean[columns] @ weight
        fits.append(Affine(columns, target, weight, bias, alpha))
    return fits


@dataclass(frozen=True, eq=False)
class Source:
    """What z is fitted to: columns of a vector, or a projection of them."""

    columns: slice
    projection: Float64[np.ndarray, "d_column d_in"] | None = None

    def choose(self, folds: Sequence[Moments], target: slice) -> float:
        """The strength of :func:`choose_strength`."""
        projected = [moments.project(self.columns, target, self.projection) for moments in folds]
        return choose_strength([moments for moments, _, _ in projected], *projected[0][1:])

    def fit(self, moments: Moments, target: slice, strength: float = 0.0) -> Affine:
        """The map of :func:`fit_affine`."""
        projected = moments.project(self.columns, target, self.projection)
        affine = fit_affine(*projected, [strength])[0]
        return replace(affine, columns=self.columns, target=target, projection=self.projection)


def choose_strength(folds: Sequence[Moments], columns: slice, target: slice) -> float:
    """The strength with the least error on the fold that a fit has not seen, summed over folds."""
    totals = np.zeros(len(STRENGTHS))
    for held_out, fold in enumerate(folds):
        train = reduce(add, (moments for i, moments in enumerate(folds) if i != held_out))
        fits = fit_affine(train, columns, target, STRENGTHS)
        totals += [fit.total(fold) for fit in fits]
    return STRENGTHS[int(totals.argmin())]


def fit_principal(moments: Moments, target: slice, rank: int) -> Affine:
    """z̄ + P (z − z̄), P the projection on the ``rank`` first principal components of z: no affine map of any ``rank`` linear
    features of z has a smaller error on the same vectors.
    """
    scatter = moments.scatter[target, target]
    width = len(scatter)
    _, components = eigh(scatter, subset_by_index=(max(0, width - rank), width - 1))
    mean = moments.mean[target]
    weight = components @ components.T
    return Affine(target, target, weight, mean - mean @ weight)
