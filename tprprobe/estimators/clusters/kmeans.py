"""k-means from several seeds: the best of its runs, its clusters numbered by falling size, and how far the runs agree."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int, Int32
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tprprobe.errors import InputError

UNVARIED = 1e-6  # of the median dimension's deviation: less is rounding, not a scale to divide by
TIE = 1e-5  # of inertia: the first of the runs with the same clusters is taken

Centers = Float32[np.ndarray, "cluster width"]
Assigned = tuple[Int32[np.ndarray, "run token"], Float[np.ndarray, " run"]]  # labels, inertia


@dataclass(frozen=True, eq=False)
class BestRun:
    """The labels and centers of the best run, numbered by falling size, its inertia, the mean agreement of all runs, and how well
    the others have each of its clusters.
    """

    labels: Int32[np.ndarray, " token"]
    centers: Centers
    inertia: float
    stability: float
    recovery: Float[np.ndarray, " cluster"]


def fill_unvaried(deviations: Float[np.ndarray, "width"]) -> Float[np.ndarray, "width"]:
    """The standard deviations, and 1 for dimensions that vary less than UNVARIED of the median dimension does."""
    return np.where(deviations > UNVARIED * np.median(deviations), deviations, 1)


def fit_means(
    vectors: Float[np.ndarray, "row width"],
    k: int,
    seed: int = 0,
    starts: int = 1,
    source: str = "the sample",
) -> Any:  # a KMeans, whose stubs have labels that may be None
    """scikit-learn's k-means: ``cluster_centers_``, ``labels_``, ``predict``; the best of ``starts``."""
    too_few = InputError(f"{source} has fewer than {k} distinct vectors: give a smaller k")
    if len(vectors) < k:
        raise too_few
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            means = KMeans(k, n_init=starts, random_state=seed)  # type: ignore[arg-type]
            return means.fit(vectors)
        except ConvergenceWarning as warning:
            raise too_few from warning


def fit_seeds(
    vectors: Float32[np.ndarray, "row width"], k: int, seed: int, n_seeds: int, source: str
) -> list[np.ndarray]:
    """The centers that k-means ends at from every start; starts of different seeds differ."""
    starts = ((seed * n_seeds + i) % 2**32 for i in range(n_seeds))
    fits = [fit_means(vectors, k, start, 1, source) for start in starts]
    return [np.asarray(fit.cluster_centers_) for fit in fits]


def assign(blocks: Iterable[np.ndarray], centers_by_run: Sequence[np.ndarray]) -> Assigned:
    """The nearest center of each vector and the inertia, for every run.

    |v − c|² = |v|² − 2 v·c + |c|² for the centers of all runs at once, so that vectors are read
    once; from the centers' mean on, so that nothing is lost where vectors lie far from the origin.
    """
    origin = np.mean(centers_by_run, axis=(0, 1), dtype=np.float32)
    centers = np.concatenate(centers_by_run).astype(np.float32) - origin
    offsets = np.square(centers).sum(1)
    labels = []
    inertia = np.zeros(len(centers_by_run))
    for block in blocks:
        moved = block - origin
        distances = (offsets - 2 * (moved @ centers.T)).reshape(len(block), len(inertia), -1)
        nearest = distances.argmin(2)
        lowest = np.take_along_axis(distances, nearest[..., None], 2)
        inertia += lowest.sum((0, 2), dtype=np.float64)
        inertia += np.einsum("ij,ij->i", moved, moved).sum(dtype=np.float64)
        labels.append(nearest.T.astype(np.int32))
    return np.concatenate(labels, 1), inertia


def choose_run(
    labels: Int32[np.ndarray, "run token"],
    inertia: Float[np.ndarray, " run"],
    centers_by_run: Sequence[np.ndarray],
) -> BestRun:
    """The best run, its clusters numbered by falling size; stability is the mean adjusted Rand index between runs."""
    k = len(centers_by_run[0])
    best = int(np.argmax(inertia <= inertia.min() * (1 + TIE)))
    order = np.argsort(-np.bincount(labels[best], minlength=k), kind="stable")
    numbers = np.argsort(order).astype(np.int32)
    agreement = [adjusted_rand_score(*pair) for pair in combinations(labels, 2)]
    stability = float(np.mean(agreement)) if agreement else np.nan
    centers = centers_by_run[best][order]
    numbered, other_runs = numbers[labels[best]], np.delete(labels, best, axis=0)
    recovery = measure_recovery(numbered, other_runs, k)
    return BestRun(numbered, centers, float(inertia[best]), stability, recovery)


def measure_recovery(
    labels: Int[np.ndarray, " token"], runs: Int[np.ndarray, "run token"], k: int
) -> Float[np.ndarray, " cluster"]:
    """The Jaccard index of every cluster and the one most like it in another run, the mean over these; 1: all have the same cluster.

    Source: Hennig 2007, clusterwise stability (there over resampled data): below 0.6 a cluster is not to be trusted.
    """
    shared = np.stack([np.bincount(labels * k + run, minlength=k * k) for run in runs])
    shared = shared.reshape(len(runs), k, k)
    either = shared.sum(2, keepdims=True) + shared.sum(1, keepdims=True) - shared
    return (shared / np.maximum(either, 1)).max(2).mean(0)
