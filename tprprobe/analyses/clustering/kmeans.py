"""k-means on the vectors of a store: the best of several seeds, and how far these agree."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int32
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from tprprobe.analyses.clustering.clusters import Clusters, summarize
from tprprobe.analyses.clustering.matrices import SAMPLE, Source, Target, find_heads
from tprprobe.analyses.clustering.starts import HELD, draw_starts
from tprprobe.errors import InputError
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import takes_paths

Scaling = tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]  # mean and deviation
Measured = tuple[Int32[np.ndarray, "run token"], Float[np.ndarray, " run"]]  # labels, inertia

TIE = 1e-5  # of inertia: the first of the runs that found the same is taken
SAMPLED = 64  # rows for each center, at least, of the sample of a streamed site


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
    return cluster_source(Source.find(store, site, head), k, seed, raw, n_seeds)


def cluster_source(
    source: Source, k: int = 20, seed: int = 0, raw: bool = False, n_seeds: int = 10
) -> Clusters:
    """The clusters of a source: vectors found before, or a projection of them; as :func:`cluster`."""
    return run_all(source, k, seed, raw, n_seeds).best()


@dataclass(frozen=True, eq=False)
class KMeansRuns:
    """k-means from several seeds: the clusters of every vector, the centers, and the inertia of each."""

    source: Source
    seed: int
    raw: bool
    labels: Int32[np.ndarray, "run token"]
    centers: Float32[np.ndarray, "run cluster width"]
    inertia: Float[np.ndarray, " run"]
    mean: Float32[np.ndarray, "width"]
    scale: Float32[np.ndarray, "width"]

    def best(self) -> Clusters:
        """The run with the least inertia, its clusters numbered by falling size."""
        best = int(np.argmax(self.inertia <= self.inertia.min() * (1 + TIE)))
        labels, k = self.labels[best], self.centers.shape[1]
        order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
        labels = np.argsort(order).astype(np.int32)[labels]
        return Clusters(
            site=self.source.site,
            head=self.source.head,
            k=k,
            seed=self.seed,
            raw=self.raw,
            n_seeds=len(self.labels),
            inertia=float(self.inertia[best]),
            stability=_agreement(self.labels),
            labels=labels,
            centers=self.centers[best][order],
            mean=self.mean,
            scale=self.scale,
            summary=summarize(labels, self.source.store.tokens_of(self.source.site), k),
        )


def run_all(
    source: Source, k: int = 20, seed: int = 0, raw: bool = False, n_seeds: int = 10
) -> KMeansRuns:
    """All runs of which ``cluster_source`` gives the best."""
    if not 1 <= k <= source.rows:
        raise InputError(f"k is {k}, but {source} has {source.rows} vectors: give 1 to that many")
    if n_seeds < 2:
        raise InputError(f"n_seeds is {n_seeds}: stability compares runs, give 2 or more")
    none = np.zeros(source.width, np.float32)
    scaling = (none, none + 1) if raw else source.moments()
    seeds = range(seed, seed + n_seeds)
    if source.is_streamed:
        sample = source.sample(max(SAMPLE, SAMPLED * k), seed)
        fits = _fit(source, _scaled(sample, scaling), k, seeds)
        measured = each_part(partial(_measure_part, source, scaling, fits), source.parts())
    else:
        whole = _scaled(np.concatenate(list(source.blocks())), scaling)
        fits = _fit(source, whole, k, seeds)
        measured = [_measure([whole], fits)]
    labels, inertia = zip(*measured, strict=True)
    joined, total = np.concatenate(labels, 1), np.maximum(0, sum(inertia))
    return KMeansRuns(source, seed, raw, joined, np.stack(fits), total, *scaling)


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
    """scikit-learn's k-means: ``cluster_centers_``, ``labels_``, ``predict``; the best of ``starts``.

    Raises:
        InputError: the vectors, which are those ``of`` something, are fewer distinct ones than k.
    """
    few = InputError(f"{of} has fewer than {k} distinct vectors: give a smaller k")
    if len(vectors) < k:
        raise few
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            init: Any = draw_starts if vectors.nbytes <= HELD else "k-means++"
            return KMeans(k, init=init, n_init=starts, random_state=seed).fit(vectors)  # type: ignore[arg-type]
        except ConvergenceWarning as warning:
            raise few from warning


def _fit(
    source: Source, vectors: Float32[np.ndarray, "row width"], k: int, seeds: range
) -> list[np.ndarray]:
    """The centers that k-means finds from each seed."""
    fitted = [fit_means(vectors, k, seed, of=str(source)) for seed in seeds]
    return [np.asarray(run.cluster_centers_) for run in fitted]


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


def _agreement(runs: Int32[np.ndarray, "run token"]) -> float:
    """The mean adjusted Rand index of all pairs of runs: 1 where all find the same clusters."""
    return float(np.mean([adjusted_rand(*pair) for pair in combinations(runs, 2)]))


def adjusted_rand(one: Int32[np.ndarray, " token"], other: Int32[np.ndarray, " token"]) -> float:
    """The adjusted Rand index of two clusterings: 1 where they are the same, about 0 by chance.

    scikit-learn's number, from counts of pairs, without its checks and sparse tables. Source: Hubert and
    Arabie 1985.
    """
    width = int(other.max()) + 1
    table = np.bincount(one * width + other, minlength=(int(one.max()) + 1) * width)
    table = table.reshape(-1, width)
    together, rows, columns = (
        int(np.square(counts).sum()) for counts in (table, table.sum(1), table.sum(0))
    )
    apart, agreed = len(one) ** 2 - rows - columns + together, together - len(one)
    first, second = rows - together, columns - together  # pairs that only one of them has together
    if first == second == 0:
        return 1.0
    total = (agreed + first) * (first + apart) + (agreed + second) * (second + apart)
    return 2.0 * (agreed * apart - first * second) / total
