"""Starts of k-means: the centers that scikit-learn's k-means++ draws from the same generator, sooner.

Its distances are computed in double precision, for which it converts all vectors for every center anew;
here they are converted once. With a few thousand vectors that conversion is most of the time of a fit.
"""

import numpy as np
from jaxtyping import Float, Int

HELD = 2**26  # bytes of vectors that are held a second time, in double precision


def draw_starts(
    vectors: Float[np.ndarray, "row width"], k: int, random_state: np.random.RandomState
) -> Float[np.ndarray, "cluster width"]:
    """k of the vectors, each the best of 2 + ln k drawn in proportion to the squared distance to the
    nearest one before.

    Source: Arthur and Vassilvitskii 2007, k-means++ (greedy, as in scikit-learn).
    """
    wide, n, kind = vectors.astype(np.float64), len(vectors), vectors.dtype
    ones = np.ones((n, 1), kind)
    squares = np.einsum("ij,ij->i", wide, wide)
    chosen = [int(random_state.choice(n, p=ones[:, 0] / n))]
    found = _distances(wide, squares, np.array(chosen), kind)
    nearest, total = found[0], found @ ones[:, 0]
    for _ in range(1, k):
        drawn = random_state.uniform(size=2 + int(np.log(k))) * total
        tried = np.searchsorted(np.cumsum(nearest), drawn).clip(max=n - 1)
        found = np.minimum(nearest, _distances(wide, squares, tried, kind))
        totals = found @ ones
        best = int(totals.argmin())
        chosen.append(int(tried[best]))
        nearest, total = found[best], totals[best]
    return vectors[chosen]


def _distances(
    wide: Float[np.ndarray, "row width"],
    squares: Float[np.ndarray, " row"],
    rows: Int[np.ndarray, " center"],
    kind: np.dtype,
) -> Float[np.ndarray, "center row"]:
    """The squared distances of some vectors from all."""
    found = -2 * (wide[rows] @ wide.T) + squares[rows][:, None] + squares
    return found.astype(kind).clip(min=0)
