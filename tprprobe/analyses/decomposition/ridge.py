"""Ridge solutions of (g + λ) B = c: by Cholesky for few columns, by conjugate gradients for many."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tprprobe.analyses.decomposition.pair_moments import PairMoments

Matrix = Float64[np.ndarray, "_row _column"]
TOLERANCE, MOST_STEPS = 1e-6, 200
FLAT = 1e-12  # cosine of a direction and its image, below which rounding decides


def solve_ridge(moments: PairMoments, penalty: float) -> Float64[np.ndarray, "pair d_model"]:
    """B = (g + λI)⁻¹ c with λ = penalty · tr(g)/pairs: least squares whose intercept is free."""
    penalized = penalty * moments.mean_variance
    if moments.is_dense:
        return solve_positive(moments.scatter, moments.centred_cross, penalized)
    diagonal = np.asarray(moments.counts.power(2).sum(0)).reshape(-1)
    diagonal = diagonal - moments.n * moments.mean_counts**2 + penalized
    scale = 1 / np.maximum(diagonal, 1e-12)[:, None]
    return conjugate_gradients(
        lambda x: moments.times(x) + penalized * x, moments.centred_cross, lambda x: scale * x
    )


def solve_positive(matrix: Matrix, right: Matrix, penalty: float = 0.0) -> Matrix:
    """(A + λI)⁻¹ B of a symmetric A without negative eigenvalues; B may have any columns."""
    if not len(matrix):
        return np.zeros_like(right)
    shifted = matrix.copy()
    shifted[np.diag_indices(len(shifted))] += max(penalty, 1e-12 * np.trace(matrix) / len(matrix))
    try:
        return cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), right)
    except LinAlgError:  # without a penalty, and singular
        return np.linalg.lstsq(matrix, right)[0]


def conjugate_gradients(
    apply: Callable[[Matrix], Matrix],
    right: Matrix,
    precondition: Callable[[Matrix], Matrix] = lambda rest: rest,
    start: Matrix | None = None,
    steps: int = MOST_STEPS,
) -> Matrix:
    """The solution of ``apply(x) = right``, every column by itself, for a symmetric positive map.

    A column ends where the map has no curvature left, as in a direction that it takes to 0.

    ``precondition`` is about the inverse of the map.
    """
    x = np.zeros_like(right) if start is None else start.copy()
    rest = right - apply(x) if start is not None else right.copy()
    direction = scaled = precondition(rest)
    size, enough = _dots(rest, scaled), TOLERANCE**2 * _dots(right, precondition(right))
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
        image *= step
        rest = rest - image
        scaled = precondition(rest)
        new = _dots(rest, scaled)
        direction = scaled + np.where(active, new / np.maximum(size, 1e-300), 0) * direction
        size = np.where(active, new, 0)
    return x


def _dots(one: Matrix, other: Matrix) -> Float64[np.ndarray, " column"]:
    """The products of like columns."""
    return np.einsum("ij,ij->j", one, other)
