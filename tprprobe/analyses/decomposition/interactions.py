"""Factors of an interaction: the higher-order SVD of a table of vectors V[f, r], made of its pairs alone.

Factors are scaled by their singular values, so that a ridge on W (f ⊗ r) has the prior that the table
itself suggests: small directions are shrunk more. Then few dimensions are a matter of price, not of error.
"""

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Pairs

MOST_FILLERS, MOST_ROLES, MOST_BOUND = 64, 32, 1024  # dimensions
MOST_SYMBOLS = 2048  # the commonest of the shorter axis have factors
SMALL = 1e-5  # of the largest singular value: what is less is rounding

Ranks = tuple[int, int]
Factor = Float64[np.ndarray, "_symbol _rank"]


def factor_table(
    vectors: Float64[np.ndarray, "pair d"], pairs: Pairs, most: Ranks | None = None
) -> tuple[Factor, Factor]:
    """F and R of the vectors of pairs, largest directions first, scaled by their singular values; at most so
    many dimensions each, and MOST_BOUND of their product where no number is set.
    """
    sizes = (len(pairs.fillers), len(pairs.roles))
    axes = (pairs.filler_of, pairs.role_of)
    short = 0 if sizes[0] < sizes[1] else 1
    limits = most or (MOST_FILLERS, MOST_ROLES)
    own, other, n = axes[short], axes[1 - short], (sizes[short], sizes[1 - short])
    first = _principal_short(vectors, own, other, n)[:, : limits[short]]
    if not first.shape[1]:
        return np.zeros((sizes[0], 0)), np.zeros((sizes[1], 0))
    weights = first / np.maximum(np.linalg.norm(first, axis=0), 1e-300)
    at = (other, np.arange(len(own)))
    projected = [csr_array((w[own], at), (n[1], len(own))) @ vectors for w in weights.T]
    second = principal(np.hstack(projected))[:, : limits[1 - short]]
    found = (first, second) if short == 0 else (second, first)
    return found if most else _limit(*found)


def _principal_short(
    vectors: Float64[np.ndarray, "pair d"], own: np.ndarray, other: np.ndarray, sizes: Ranks
) -> Factor:
    """The scaled left singular vectors of V unfolded along its shorter axis."""
    common = np.argsort(-np.bincount(own, minlength=sizes[0]), kind="stable")[:MOST_SYMBOLS]
    place = np.full(sizes[0], -1)
    place[common] = np.arange(len(common))
    known = np.flatnonzero(place[own] >= 0)
    gram, shape = np.zeros((len(common),) * 2), (len(common), sizes[1])
    for column in vectors.T:
        m = csr_array((column[known], (place[own[known]], other[known])), shape)
        is_sparse = m.nnz < np.prod(shape) / 8
        m = m if is_sparse else m.toarray()
        gram += (m @ m.T).toarray() if is_sparse else m @ m.T
    factor = _scaled(gram)
    found = np.zeros((sizes[0], factor.shape[1]))
    found[common] = factor
    return found


def principal(unfolded: Float64[np.ndarray, "symbol column"]) -> Factor:
    """Scaled left singular vectors, by the smaller of the two Gram matrices."""
    if len(unfolded) <= unfolded.shape[1]:
        return _scaled(unfolded @ unfolded.T)
    values, axes = np.linalg.eigh(unfolded.T @ unfolded)
    kept = np.sqrt(np.maximum(values[::-1], 0)) > SMALL * np.sqrt(max(values[-1], 1e-300))
    return unfolded @ axes[:, ::-1][:, kept]


def _scaled(gram: Float64[np.ndarray, "symbol symbol"]) -> Factor:
    values, axes = np.linalg.eigh(gram)
    sizes = np.sqrt(np.maximum(values[::-1], 0))
    kept = sizes > SMALL * max(sizes[0], 1e-300)
    return axes[:, ::-1][:, kept] * sizes[kept]


def _limit(fillers: Factor, roles: Factor) -> tuple[Factor, Factor]:
    """The largest dimensions of both, so that their product is at most MOST_BOUND."""
    ranks = [fillers.shape[1], roles.shape[1]]
    sizes = [np.linalg.norm(of, axis=0) for of in (fillers, roles)]
    sizes = [of / max(of[0], 1e-300) if len(of) else of for of in sizes]
    while ranks[0] * ranks[1] > MOST_BOUND:
        ranks[int(sizes[1][ranks[1] - 1] < sizes[0][ranks[0] - 1])] -= 1
    return fillers[:, : ranks[0]], roles[:, : ranks[1]]


def bind_rows(
    one: Float64[np.ndarray, "pair d_filler"], other: Float64[np.ndarray, "pair d_role"]
) -> Float64[np.ndarray, "pair bound"]:
    """f ⊗ r, row by row."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), one.shape[1] * other.shape[1])


def columns_of(ranks: Ranks, whole: Ranks) -> Int[np.ndarray, " bound"]:
    """The columns of f ⊗ r with ``whole`` dimensions that have only the first ``ranks``."""
    return (np.arange(ranks[0])[:, None] * whole[1] + np.arange(ranks[1])).reshape(-1)
