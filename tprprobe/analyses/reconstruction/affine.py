"""Affine maps ẑ = W v + b fitted in closed form to moments, and the predictors of z made of these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64
from scipy.linalg import eigh

from tprprobe.analyses.reconstruction.layers import Layer, Moments, add_up

# Ridge penalties as multiples of the mean eigenvalue of the scatter of v; the first is none.
STRENGTHS = (0.0, *np.logspace(-8, 1, 10).tolist())
SMALLEST = 1e-12  # of the largest eigenvalue: below it a direction of v does not vary


@dataclass(frozen=True, eq=False)
class Affine:
    """ẑ = vᵀ W + b for v the ``columns`` of a vector whose ``target`` columns are z."""

    columns: slice
    target: slice
    weight: Float64[np.ndarray, "d_in d_out"]
    bias: Float64[np.ndarray, " d_out"]
    alpha: float = 0.0

    def errors(self, vectors: Float64[np.ndarray, "row width"]) -> Float64[np.ndarray, " row"]:
        """|z − ẑ|² of each vector."""
        residual = vectors[:, self.target] - vectors[:, self.columns] @ self.weight - self.bias
        return np.square(residual).sum(1)

    def total(self, moments: Moments) -> float:
        """Σ |z − ẑ|² over all vectors that the moments are of."""
        offset = moments.mean[self.target] - moments.mean[self.columns] @ self.weight - self.bias
        inside = moments.scatter[self.columns, self.columns] @ self.weight
        inside -= 2 * moments.scatter[self.columns, self.target]
        total = np.trace(moments.scatter[self.target, self.target]) + np.sum(inside * self.weight)
        return float(max(total, 0.0) + moments.count * offset @ offset)


def fit_affine(
    moments: Moments, columns: slice, target: slice, strengths: Sequence[float] = (0.0,)
) -> list[Affine]:
    """W = (Sᵥᵥ + α I)⁻¹ Sᵥ_z, b = z̄ − v̄ W, one for each strength; of several best, the smallest W.

    The bias is not penalised; α, that of scikit-learn's Ridge, is strength × mean eigenvalue of Sᵥᵥ.
    """
    values, vectors = np.linalg.eigh(moments.scatter[columns, columns])
    largest = values.max(initial=0.0)
    varies = values > SMALLEST * largest
    rotated = vectors.T @ moments.scatter[columns, target]
    fits = []
    for strength in strengths:
        alpha = strength * float(values.mean()) if strength else 0.0
        inverse = np.divide(1.0, values + alpha, out=np.zeros_like(values), where=varies)
        weight = vectors @ (inverse[:, None] * rotated)
        bias = moments.mean[target] - moments.mean[columns] @ weight
        fits.append(Affine(columns, target, weight, bias, alpha))
    return fits


def choose_strength(folds: Sequence[Moments], columns: slice, target: slice) -> float:
    """The strength with the least error on the fold that a fit has not seen, summed over folds."""
    totals = np.zeros(len(STRENGTHS))
    for held_out, fold in enumerate(folds):
        rest = add_up(each for i, each in enumerate(folds) if i != held_out)
        fits = fit_affine(rest, columns, target, STRENGTHS)
        totals += [fit.total(fold) for fit in fits]
    return STRENGTHS[int(totals.argmin())]


def fit_principal(moments: Moments, target: slice, rank: int) -> Affine:
    """z̄ + P (z − z̄), P the projection on the ``rank`` first principal components of z.

    No affine map of any ``rank`` linear features of z has a smaller error on the same vectors.
    """
    scatter = moments.scatter[target, target]
    width = len(scatter)
    _, first = eigh(scatter, subset_by_index=(max(0, width - rank), width - 1))
    mean = moments.mean[target]
    weight = first @ first.T
    return Affine(target, target, weight, mean - mean @ weight)


PRINTED_N = 100  # of the paper, which does not say of what


@dataclass(frozen=True, eq=False)
class Training:
    """A training set: n questions or positions, with their moments and rows."""

    unit: str
    n: int
    moments: Moments
    rows: Bool[np.ndarray, " row"]
    folds: Sequence[Moments] = ()  # where given, the ridge penalty is chosen by cross-validation

    @property
    def has_interval(self) -> bool:
        return self.n == PRINTED_N or bool(self.folds)


class Predictor(NamedTuple):
    """Maps whose errors are averaged."""

    name: str
    head: int | None
    penalty: str
    maps: Sequence[Affine]


def fit_predictors(layer: Layer, training: Training) -> Iterator[Predictor]:
    """All predictors of a training set, the mean first, without penalty and, where it has folds, with one."""
    moments, target = training.moments, layer.target
    yield Predictor("mean", None, "none", fit_affine(moments, slice(0, 0), target))
    principal = fit_principal(moments, target, layer.heads[0].stop)
    yield Predictor("pca", None, "none", [principal])
    for penalty, folds in {
        "none": (),
        **({"cv": training.folds} if training.folds else {}),
    }.items():

        def fit(columns: slice, folds: Sequence[Moments] = folds) -> Affine:
            strength = choose_strength(folds, columns, target) if folds else 0.0
            return fit_affine(moments, columns, target, [strength])[0]

        heads = list(map(fit, layer.heads))
        for head, fitted in enumerate(heads):
            yield Predictor("head", head, penalty, [fitted])
        yield Predictor("heads", None, penalty, heads)
        yield Predictor("all heads", None, penalty, [fit(layer.together)])
        yield Predictor("random", None, penalty, list(map(fit, layer.random)))
