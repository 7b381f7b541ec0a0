"""k-means on the vectors of a store: the best of several seeds, and how far these agree."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int32
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tprprobe.analyses.clustering.clusters import Clusters, summarize
from tprprobe.analyses.clustering.matrices import SAMPLE, Source, Target, find_heads
from tprprobe.errors import InputError
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import takes_paths

Scaling = tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]  # mean and deviation
Measured = tuple[Int32[np.ndarray, "run token"], Float[np.ndarray, " run"]]  # labels, inertia

TIE = 1e-5  # of inertia: the first of the runs that found the same is taken
SAMPLED = 64  # rows for each center, at least, of the sample of a streamed site
RUNS = range(2, 1001)  # of which stability is the agreement


@takes_paths
def cluster(
    store: Store,
    site: str,
    head: int | None = None,
    k: int = 20,
    seed: int = 0,
    raw: bool = False,
    n_seeds: int = 10,
) -> Clusters:
    """Clusters of the vectors of a site, or of one head of it: the best of several runs of k-means.

    Of vectors beyond 1 GiB the centers are those of a sample of 32,768 (or 64 k), and one pass over all vectors finds
    labels and inertia of all runs.

    Args:
        store: The store.
        site: A site; layer -1 is the last.
        head: A head; default: all heads.
        k: Number of clusters.
        seed: Seed of random choices.
        raw: Cluster raw vectors, as the paper did, without standardizing dimensions, whose scale is arbitrary.
        n_seeds: Runs of k-means.

    Returns:
        The clusters, numbered by falling size.

    Raises:
        InputError: No such site or head, no head chosen where the site has several, k out of range, vectors that are not finite,
            or fewer distinct vectors than k.

    Source: schlag Sec. 5.1 (k = 20, one head, raw vectors).

    Examples:
        >>> tp.cluster(store, "encoder.-1.self.role", head=1, k=3, n_seeds=2).centers.shape
        (3, 24)
    """
    return run_all(Source.find(store, site, head), k, seed, raw, n_seeds)[0]


def run_all(
    source: Source, k: int = 20, seed: int = 0, raw: bool = False, n_seeds: int = 10
) -> tuple[Clusters, Int32[np.ndarray, "run token"]]:
    """The best of several runs of k-means on a source, its clusters numbered by falling size, and all labels."""
    if not 1 <= k <= source.rows:
        raise InputError(f"k is {k}, but {source} has {source.rows} vectors: give 1 to that many")
    if n_seeds not in RUNS:
        raise InputError(f"n_seeds is {n_seeds}: stability compares runs, give 2 to {RUNS[-1]}")
    none = np.zeros(source.width, np.float32)
    scaling = (none, none + 1) if raw else source.moments()

    def fit(vectors: Float32[np.ndarray, "row width"]) -> list[np.ndarray]:
        """The centers that k-means finds from every seed."""
        means = [fit_means(vectors, k, seed + i, of=str(source)) for i in range(n_seeds)]
        return [np.asarray(each.cluster_centers_) for each in means]

    if source.is_streamed:
        sample = source.sample(max(SAMPLE, SAMPLED * k), seed)
        fits = fit(_scaled(sample, scaling))
        measured = each_part(partial(_measure_part, source, scaling, fits), source.parts())
    else:
        whole = _scaled(np.concatenate(list(source.blocks())), scaling)
        fits = fit(whole)
        measured = [_measure([whole], fits)]
    labels, inertia = zip(*measured, strict=True)
    runs, total = np.concatenate(labels, 1), np.maximum(0, sum(inertia))
    best = int(np.argmax(total <= total.min() * (1 + TIE)))
    order = np.argsort(-np.bincount(runs[best], minlength=k), kind="stable")
    numbered = np.argsort(order).astype(np.int32)[runs[best]]
    agreement = [adjusted_rand_score(*two) for two in combinations(runs, 2)]
    found = Clusters(
        site=source.site,
        head=source.head,
        k=k,
        seed=seed,
        raw=raw,
        n_seeds=n_seeds,
        inertia=float(total[best]),
        stability=float(np.mean(agreement)),
        labels=numbered,
        centers=fits[best][order],
        mean=scaling[0],
        scale=scaling[1],
        summary=summarize(numbered, source.store.tokens_of(source.site), k),
    )
    return found, runs


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


def fit_means(
    vectors: Float[np.ndarray, "row width"],
    k: int,
    seed: int = 0,
    starts: int = 1,
    of: str = "the sample",
) -> Any:
    """scikit-learn's k-means: ``cluster_centers_``, ``labels_``, ``predict``; the best of ``starts``."""
    few = InputError(f"{of} has fewer than {k} distinct vectors: give a smaller k")
    if len(vectors) < k:
        raise few
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            return KMeans(k, n_init=starts, random_state=seed).fit(vectors)  # type: ignore[arg-type]
        except ConvergenceWarning as warning:
            raise few from warning


def _scaled(vectors: np.ndarray, scaling: Scaling) -> np.ndarray:
    return (vectors - scaling[0]) / scaling[1]


def _measure_part(
    source: Source, scaling: Scaling, fits: Sequence[np.ndarray], part: slice
) -> Measured:
    """What ``_measure`` finds of a part of the rows, read a block at a time."""
    return _measure((_scaled(block, scaling) for block in source.blocks(part)), fits)


def _measure(blocks: Iterable[np.ndarray], fits: Sequence[np.ndarray]) -> Measured:
    """The nearest center of each vector and the inertia, for every run.

    |v − c|² = |v|² − 2 v·c + |c|² for the centers of all runs at once, so that vectors are read
    once; from the centers' mean on, so that nothing is lost where vectors lie far from the origin.
    """
    middle = np.mean(fits, axis=(0, 1), dtype=np.float32)
    centers = np.concatenate(fits).astype(np.float32) - middle
    offsets = np.square(centers).sum(1)
    labels = []
    inertia = np.zeros(len(fits))
    for block in blocks:
        moved = block - middle
        distances = (offsets - 2 * (moved @ centers.T)).reshape(len(block), len(fits), -1)
        found = distances.argmin(2)
        inertia += np.take_along_axis(distances, found[..., None], 2).sum((0, 2), dtype=np.float64)
        inertia += np.einsum("ij,ij->i", moved, moved).sum(dtype=np.float64)
        labels.append(found.T.astype(np.int32))
    return np.concatenate(labels, 1), inertia
