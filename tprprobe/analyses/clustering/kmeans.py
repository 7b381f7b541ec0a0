"""k-means on the vectors of a site of a store, or of one head of it: the best of several seeds, and how far these agree.

Vectors are held in memory, or read in parts.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int32
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from tprprobe.analyses.clustering.clusters import Clusters, summarize
from tprprobe.errors import InputError
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part, parts_of
from tprprobe.store.reader import takes_paths

BUDGET = 2**30  # bytes of vectors that are held in memory; a site with more is streamed from disk
VARYING = 1e-6  # of the largest variance, what a direction has that varies
SAMPLE, STRETCH = 2**15, 2**7  # rows of a sample of a streamed site, in stretches of so many

Target = tuple[str, int | None]  # a site and a head of it
Moments = tuple[int, np.ndarray, np.ndarray]  # count, mean and variance by dimension
Scaling = tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]  # mean and deviation
Measured = tuple[Int32[np.ndarray, "run token"], Float[np.ndarray, " run"]]  # labels, inertia

TIE = 1e-5  # of inertia: the first of the runs that found the same is taken
SAMPLED = 64  # rows for each center, at least, of the sample of a streamed site
RUNS = range(2, 1001)  # of which stability is the agreement


def find_heads(store: Store, patterns: str | Iterable[str]) -> list[Target]:
    """Every site that matches, with each of its heads, or with None where it has no heads."""
    return [(site, head) for site in store.select(patterns) for head in _heads(store, site)]


def _heads(store: Store, site: str) -> Sequence[int | None]:
    heads = store.specs[site].heads
    return (None,) if heads is None else range(heads)


@dataclass(frozen=True)
class Source:
    """The vectors to cluster: those of a site, of one head of it, or a linear image of them."""

    store: Store
    site: str
    head: int | None
    rows: int
    width: int
    projection: Float32[np.ndarray, "d_model width"] | None = None

    @classmethod
    def find(cls, store: Store, site: str, head: int | None) -> "Source":
        """The source of a site and head; layer -1 and head -1 are the last."""
        names = store.select(site)
        if len(names) > 1:
            raise InputError(f"{site!r} names {len(names)} sites ({names[0]}, …): give one of them")
        spec, heads = store.specs[names[0]], _heads(store, names[0])
        if spec.is_attention:
            raise InputError(f"{names[0]} holds attention maps, only vectors can be clustered")
        if head is None and heads != (None,):
            raise InputError(f"{names[0]} has {len(heads)} heads: give one, 0 to {len(heads) - 1}")
        if head is not None:
            store.read(names[0], slice(0, 0), head)  # no such head: it says which there are
            head %= len(heads)
        width = int(np.prod(spec.shape)) // len(heads)
        return cls(store, names[0], head, len(store.tokens_of(names[0])), width)

    def __str__(self) -> str:
        return self.site if self.head is None else f"{self.site}, head {self.head}"

    def whitened(self) -> "Source":
        """The vectors with unit covariance, for those that the model leaves open up to a linear map.

        Queries and keys are such (q → Rq, k → R⁻ᵀk changes no score): clusters of whitened vectors
        are the same for every R. Directions that do not vary are left out.
        """
        total, product = 0.0, 0.0
        for sums in each_part(self._sums, self.parts()):
            total, product = total + sums[0], product + sums[1]
        mean = total / self.rows
        values, axes = np.linalg.eigh(product / self.rows - np.outer(mean, mean))
        kept = values > VARYING * values.max()
        return self.project((axes[:, kept] / np.sqrt(values[kept])).astype(np.float32))

    def project(self, projection: Float32[np.ndarray, "d_model width"]) -> "Source":
        """The images of these vectors under a linear map."""
        return replace(self, projection=projection, width=projection.shape[1])

    @property
    def is_streamed(self) -> bool:
        return self.rows * self.width * np.dtype(np.float32).itemsize > BUDGET

    def parts(self) -> list[slice]:
        """The rows in parts, over which workers may be spread."""
        return parts_of(self.rows)

    def blocks(self, part: slice = slice(None)) -> Iterator[Float32[np.ndarray, "_row width"]]:
        """The vectors (of a part of the rows) in blocks."""
        for rows, block in self.store.iterate(self.site, self.head, part=part):
            yield self._typed(block, rows.start)

    def _read(self, rows: slice) -> Float32[np.ndarray, "_row width"]:
        return self._typed(self.store.read(self.site, rows, self.head), rows.start)

    def _typed(self, block: np.ndarray, start: int) -> Float32[np.ndarray, "_row width"]:
        vectors = block.reshape(len(block), -1).astype(np.float32, copy=False)
        bad = np.flatnonzero(~np.isfinite(vectors).all(1))
        if len(bad):
            raise InputError(
                f"{self} holds vectors that are not finite (the first is row "
                f"{start + bad[0]} of {self.rows}): they cannot be clustered"
            )
        return vectors if self.projection is None else vectors @ self.projection

    def sample(self, rows: int, seed: int) -> Float32[np.ndarray, "_row width"]:
        """About so many of the vectors: whole stretches of rows, drawn without repetition."""
        starts = np.arange(0, self.rows, STRETCH)
        rng, count = np.random.default_rng(seed), min(len(starts), -(-rows // STRETCH))
        drawn = sorted(rng.choice(starts, count, replace=False).tolist())
        return np.concatenate([self._read(slice(start, start + STRETCH)) for start in drawn])

    def moments(self) -> tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]:
        """Mean and standard deviation of each dimension; 1 for one that does not vary."""
        n, mean, variance = reduce(_merge, each_part(self._moments, self.parts()))
        rounding = np.finfo(np.float64).eps * n  # as in scikit-learn's StandardScaler
        varies = variance > rounding * variance + np.square(rounding * mean)
        return mean.astype(np.float32), np.where(varies, np.sqrt(variance), 1).astype(np.float32)

    def _moments(self, part: slice) -> Moments:
        scaler = StandardScaler()
        for block in self.blocks(part):
            scaler.partial_fit(block)
        return part.stop - part.start, np.asarray(scaler.mean_), np.asarray(scaler.var_)

    def _sums(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Σ v and Σ v vᵀ."""
        total, product = np.zeros(self.width), np.zeros((self.width, self.width))
        for block in self.blocks(part):
            wide = block.astype(np.float64)
            total, product = total + wide.sum(0), product + wide.T @ wide
        return total, product


def _merge(one: Moments, other: Moments) -> Moments:
    """Count, mean and variance of the vectors of both."""
    n, apart = one[0] + other[0], other[1] - one[1]
    scatter = one[0] * one[2] + other[0] * other[2] + one[0] * other[0] / n * np.square(apart)
    return n, one[1] + apart * (other[0] / n), scatter / n


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
