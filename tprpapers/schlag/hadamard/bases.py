"""d directions in the space of v ⊗ r: the diagonal, principal ones, and pairs m ⊗ n.

The diagonal of Mᵀ (v rᵀ) N is (Mᵀ v) ⊙ (Nᵀ r): a Hadamard product of linearly transformed vectors
is the projection of v ⊗ r on the d tensors m_c ⊗ n_c. The best d directions of all are principal
components, which in general are no such pairs. Source: schlag Sec. 7, Eqs. 12–13.
"""

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigh

Second = Float64[np.ndarray, "pair pair"]  # E[vec(v ⊗ r) vec(v ⊗ r)ᵀ]
Basis = Float64[np.ndarray, "pair direction"]  # orthonormal columns
Matrix = Float64[np.ndarray, "d d"]
Vector = Float64[np.ndarray, " d"]

STEPS, TOLERANCE, NOTHING = 30, 1e-7, 1e-9


def diagonal(width: int) -> Basis:
    """The model's own directions: e_c ⊗ e_c."""
    return pairs(np.eye(width), np.eye(width))


def principal(second: Second, count: int) -> Basis:
    """The directions of largest E[(tᵀ vec(v ⊗ r))²]: no others capture more."""
    size = len(second)
    return eigh(second, subset_by_index=(size - count, size - 1))[1]


def pairs(filler_axes: Matrix, role_axes: Matrix) -> Basis:
    """vec(m_c ⊗ n_c) of the columns of M and N."""
    return np.einsum("ic,jc->ijc", filler_axes, role_axes).reshape(-1, filler_axes.shape[1])


def random_pairs(width: int, rng: np.random.Generator) -> Basis:
    """Pairs of the columns of two random orthogonal matrices."""
    filler_axes, role_axes = (np.linalg.qr(rng.normal(size=(width, width)))[0] for _ in range(2))
    return pairs(filler_axes, role_axes)


def orthonormal_pairs(second: Second) -> Basis:
    """The paper's form at its best: M and N orthogonal, Σ_c E[(m_cᵀ v)² (n_cᵀ r)²] maximised.

    Starts with the principal components of v and of r in their order, which is the optimum for
    independent v and r; each step, an orthogonal Procrustes problem, captures no less.
    """
    width = round(len(second) ** 0.5)
    tensor = second.reshape((width,) * 4)
    filler_axes, role_axes = (
        np.linalg.eigh(np.einsum(e, tensor))[1] for e in ("ijkj->ik", "ijil->jl")
    )
    captured = 0.0
    for _ in range(STEPS):
        previous, basis = captured, pairs(filler_axes, role_axes)
        captured = float(np.sum(basis * (second @ basis)))
        if captured - previous <= TOLERANCE * captured:
            break
        filler_axes = _nearest(
            np.einsum("ijc,jc->ic", _moved(second, filler_axes, role_axes), role_axes)
        )
        role_axes = _nearest(
            np.einsum("ijc,ic->jc", _moved(second, filler_axes, role_axes), filler_axes)
        )
    return pairs(filler_axes, role_axes)


def _moved(
    second: Second, filler_axes: Matrix, role_axes: Matrix
) -> Float64[np.ndarray, "d d direction"]:
    return (second @ pairs(filler_axes, role_axes)).reshape(*filler_axes.shape, -1)


def _nearest(matrix: Matrix) -> Matrix:
    """The orthogonal matrix nearest to this one."""
    u, _, vt = np.linalg.svd(matrix)
    return u @ vt


def repeated_pairs(second: Second, count: int, seed: int = 0) -> Basis:
    """Pairs m ⊗ n found one by one, each the best of what the others leave; vectors may repeat.

    Only the tensors are made orthonormal, M and N need not be. For independent v and r this finds
    the principal components, which are pairs then.
    """
    residual, basis = second.copy(), np.empty((len(second), 0))
    rng = np.random.default_rng(seed)
    for _ in range(count):
        pair = np.outer(*_best_pair(residual, rng)).ravel()
        direction = pair - basis @ (basis.T @ pair)
        direction -= basis @ (basis.T @ direction)
        if np.linalg.norm(direction) < NOTHING:
            break
        direction /= np.linalg.norm(direction)
        image = residual @ direction
        residual -= np.outer(direction, image) + np.outer(
            image - (direction @ image) * direction, direction
        )
        basis = np.column_stack([basis, direction])
    return basis


def _best_pair(second: Second, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """The m, n of length 1 that maximise E[(mᵀ v)² (nᵀ r)²], each in turn the best for the other."""
    width = round(len(second) ** 0.5)
    tensor = second.reshape((width,) * 4)
    direction = rng.normal(size=len(second))
    for _ in range(STEPS):
        direction = second @ direction
        direction /= max(np.linalg.norm(direction), NOTHING)
    role_axis = np.linalg.svd(direction.reshape(width, width))[2][0]
    filler_axis, value = role_axis, 0.0
    for _ in range(STEPS):
        filler_axis = np.linalg.eigh(np.einsum("ijk,j->ik", tensor @ role_axis, role_axis))[1][
            :, -1
        ]
        values, vectors = np.linalg.eigh(filler_axis @ np.tensordot(filler_axis, tensor, 1))
        role_axis = vectors[:, -1]
        if values[-1] - value <= TOLERANCE * values[-1]:
            break
        value = values[-1]
    return filler_axis, role_axis
