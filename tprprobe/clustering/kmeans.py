"""k-means on the vectors of a store: the best of several seeds, and how far these agree."""

import warnings
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Int32
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tprprobe.clustering.results import Clusters, nearest, summarise
from tprprobe.clustering.vectors import Blocks, Source, Target, find_heads
from tprprobe.errors import InputError
from tprprobe.store import Store

PASSES = 3  # of mini-batch k-means over the vectors of a streamed site

Labels = Int32[np.ndarray, "_token"]


def cluster(
    store: Store,
    site: str,
    head: int | None = None,
    k: int = 20,
    seed: int = 0,
    raw: bool = False,
    n_seeds: int = 10,
) -> Clusters:
    """The best of ``n_seeds`` runs of k-means on the vectors of a site, or of one head of it.

    Each dimension is standardised, so that the arbitrary scale of a role's dimensions plays no
    part, unless ``raw``, as in the paper. Vectors beyond 1 GiB are streamed (mini-batch k-means).
    Source: schlag §5.1 (k = 20, one head, raw).

    Raises:
        InputError: no such site or head, a site with heads and none given, k out of range, vectors
            that are not finite, fewer distinct vectors than k.
    """
    return cluster_source(Source.find(store, site, head), k, seed, raw, n_seeds)


def cluster_source(
    source: Source, k: int = 20, seed: int = 0, raw: bool = False, n_seeds: int = 10
) -> Clusters:
    """The same of vectors that were found before, or of a projection of them."""
    if not 1 <= k <= source.rows:
        raise InputError(f"k is {k}, but {source} has {source.rows} vectors: give 1 to that many")
    if n_seeds < 2:
        raise InputError(f"n_seeds is {n_seeds}: stability compares runs, give 2 or more")
    none = np.zeros(source.width, np.float32)
    mean, scale = (none, none + 1) if raw else source.moments()
    blocks = source.scaled(mean, scale)
    fits = _fit(source, blocks, k, range(seed, seed + n_seeds))
    runs = [_measure(blocks, centers) for centers in fits]
    best = min(range(n_seeds), key=lambda run: runs[run][1])
    labels, inertia = runs[best]
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")  # the largest is cluster 0
    labels = np.argsort(order).astype(np.int32)[labels]
    return Clusters(
        site=source.site,
        head=source.head,
        k=k,
        seed=seed,
        raw=raw,
        n_seeds=n_seeds,
        inertia=inertia,
        stability=_agreement([run for run, _ in runs]),
        labels=labels,
        centers=fits[best][order],
        mean=mean,
        scale=scale,
        summary=summarise(labels, source.store.tokens_of(source.site), k),
    )


def cluster_all(
    store: Store,
    patterns: str | Iterable[str] = "*.role",
    progress: Callable[[list[Target]], Iterable[Target]] = iter,
    **settings: Any,
) -> list[Clusters]:
    """The clusters of every head of every site that matches; ``progress`` wraps the list of these.

    ``settings`` are those of :func:`cluster`: k, seed, raw, n_seeds.
    """
    targets = find_heads(store, patterns)
    return [cluster(store, site, head, **settings) for site, head in progress(targets)]


def _fit(source: Source, blocks: Blocks, k: int, seeds: range) -> list[np.ndarray]:
    """The centers that k-means finds from each seed."""
    if source.is_streamed:
        streamed = [MiniBatchKMeans(k, random_state=seed) for seed in seeds]
        for block in (block for _ in range(PASSES) for block in blocks()):
            for run in streamed:
                run.partial_fit(block)
        return [np.asarray(run.cluster_centers_) for run in streamed]
    (whole,) = blocks()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            fitted = [KMeans(k, random_state=seed).fit(whole) for seed in seeds]
    except ConvergenceWarning as warning:
        raise InputError(
            f"{source} has fewer than {k} distinct vectors: give a smaller k"
        ) from warning
    return [np.asarray(run.cluster_centers_) for run in fitted]


def _measure(blocks: Blocks, centers: np.ndarray) -> tuple[Labels, float]:
    """The nearest center of every vector, and the sum of their squared distances."""
    labels, inertia = [], 0.0
    for block in blocks():
        labels.append(nearest(block, centers))
        inertia += float(np.square(block - centers[labels[-1]]).sum(dtype=np.float64))
    return np.concatenate(labels), inertia


def _agreement(runs: list[Labels]) -> float:
    """The mean adjusted Rand index of all pairs of runs: 1 where all find the same clusters."""
    return float(np.mean([adjusted_rand_score(*pair) for pair in combinations(runs, 2)]))
