"""k-means on the vectors of a site of a store, or of one head of it: the best of several seeds, and how far these agree.

Vectors are held in memory, or read in parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from jaxtyping import Float32, Int32
from sklearn.preprocessing import StandardScaler

from tprprobe.analyses.clustering.clusters import Clusters, summarize
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.kmeans import (
    Assigned,
    assign,
    choose_run,
    fill_unvaried,
    fit_seeds,
)
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part, parts_of
from tprprobe.store.dtypes import first_infinite
from tprprobe.store.reader import takes_paths

BUDGET = 2**30  # bytes of vectors that are held in memory; a site with more is streamed from disk
SAMPLE, STRETCH = 2**15, 2**7  # rows of a sample of a streamed site, in stretches of so many

Spread = tuple[int, np.ndarray, np.ndarray]  # count, mean and variance by dimension
Centers = Sequence[np.ndarray]  # by run
Scaling = tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]  # mean and deviation

SAMPLED = 64  # rows for each center, at least, of the sample of a streamed site
RUNS = range(2, 1001)  # of which stability is the agreement
N_SEEDS = 5  # runs of k-means in every command: equal clusters have equal numbers


def find_heads(store: Store, patterns: str | Iterable[str]) -> list[tuple[str, int | None]]:
    """Every site that matches, with each of its heads, or with None where it has no heads."""
    return [(site, head) for site in store.select(patterns) for head in _heads(store, site)]


def _heads(store: Store, site: str) -> Sequence[int | None]:
    heads = store.specs[site].heads
    return (None,) if heads is None else range(heads)


@dataclass(frozen=True)
class Source:
    """The vectors to cluster: those of a site, or of one head of it."""

    store: Store
    site: str
    head: int | None
    rows: int
    width: int

    @classmethod
    def find(cls, store: Store, site: str, head: int | None) -> "Source":
        """The source of a site and head; layer -1 and head -1 are the last."""
        rows, (name, *_) = store.count_rows(site), store.select(site)
        spec, heads = store.specs[name], _heads(store, name)
        if spec.is_attention:
            raise InputError(f"{name} holds attention maps, only vectors can be clustered")
        if head is None and heads != (None,):
            raise InputError(f"{name} has {len(heads)} heads: give one, 0 to {len(heads) - 1}")
        if head is not None:
            if head not in heads and head + len(heads) not in heads:
                store.read(name, slice(0, 0), head)  # says which heads there are
            head %= len(heads)
        width = int(np.prod(spec.shape)) // len(heads)
        return cls(store, name, head, rows, width)

    def __str__(self) -> str:
        return self.site if self.head is None else f"{self.site}, head {self.head}"

    def parts(self) -> list[slice]:
        """The rows in parts, over which workers may be spread."""
        return parts_of(self.rows)

    def blocks(self, span: slice = slice(None)) -> Iterator[Float32[np.ndarray, "_row width"]]:
        """The vectors (of a part of the rows) in blocks."""
        for rows, block in self.store.iterate(self.site, self.head, part=span):
            yield self._typed(block, rows.start)

    def _typed(self, block: np.ndarray, start: int) -> Float32[np.ndarray, "_row width"]:
        vectors = block.reshape(len(block), -1).astype(np.float32, copy=False)
        if (bad := first_infinite(vectors)) is not None:
            raise InputError(
                f"{self} holds vectors that are not finite (the first is row "
                f"{start + bad} of {self.rows}): they cannot be clustered"
            )
        return vectors

    def sample(self, rows: int, seed: int) -> Float32[np.ndarray, "_row width"]:
        """About so many of the vectors: whole stretches of rows, drawn without repetition."""
        starts = np.arange(0, self.rows, STRETCH)
        rng, count = np.random.default_rng(seed), min(len(starts), -(-rows // STRETCH))
        first_rows = sorted(rng.choice(starts, count, replace=False).tolist())
        stretches = [slice(row, row + STRETCH) for row in first_rows]
        vectors = (self.store.read(self.site, rows, self.head) for rows in stretches)
        return np.concatenate([*map(self._typed, vectors, first_rows)])

    def moments(self) -> tuple[Float32[np.ndarray, "width"], Float32[np.ndarray, "width"]]:
        """Mean and standard deviation of each dimension; 1 for one that does not vary."""
        n, mean, variance = reduce(_merge, each_part(self._moments, self.parts()))
        rounding = np.finfo(np.float64).eps * n  # as in scikit-learn's StandardScaler
        varies = variance > rounding * variance + np.square(rounding * mean)
        scale = fill_unvaried(np.where(varies, np.sqrt(variance), 0))
        return mean.astype(np.float32), scale.astype(np.float32)

    def _moments(self, span: slice) -> Spread:
        scaler = StandardScaler()
        for block in self.blocks(span):
            scaler.partial_fit(block)
        return span.stop - span.start, np.asarray(scaler.mean_), np.asarray(scaler.var_)


def _merge(spread: Spread, further: Spread) -> Spread:
    (n, mean, variance), (n_further, mean_further, variance_further) = spread, further
    total, difference = n + n_further, mean_further - mean
    scatter = n * variance + n_further * variance_further
    scatter = scatter + n * n_further / total * np.square(difference)
    return total, mean + difference * (n_further / total), scatter / total


@takes_paths
def cluster(
    store: Store,
    site: str,
    head: int | None = None,
    k: int = 20,
    seed: int = 0,
    raw: bool = False,
    n_seeds: int = N_SEEDS,
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
    source: Source, k: int = 20, seed: int = 0, raw: bool = False, n_seeds: int = N_SEEDS
) -> tuple[Clusters, Int32[np.ndarray, "run token"]]:
    """The best of several runs of k-means on a source, its clusters numbered by falling size, and all labels."""
    if not 1 <= k <= source.rows:
        raise InputError(f"k is {k}, but {source} has {source.rows} vectors: give 1 to that many")
    if n_seeds not in RUNS:
        raise InputError(f"n_seeds is {n_seeds}: stability compares runs, give 2 to {RUNS[-1]}")
    zeros = np.zeros(source.width, np.float32)
    scaling = (zeros, zeros + 1) if raw else source.moments()
    fit_all = partial(fit_seeds, k=k, seed=seed, n_seeds=n_seeds, source=str(source))
    if source.rows * source.width * np.dtype(np.float32).itemsize > BUDGET:
        sample = source.sample(max(SAMPLE, SAMPLED * k), seed)
        centers = fit_all(_scaled(sample, scaling))
        assigned = list(each_part(partial(_assign_part, source, scaling, centers), source.parts()))
    else:
        vectors = _scaled(np.concatenate(list(source.blocks())), scaling)
        centers = fit_all(vectors)
        assigned = [assign([vectors], centers)]
    labels, inertia = zip(*assigned, strict=True)
    runs, total = np.concatenate(labels, 1), np.maximum(0, sum(inertia))
    best = choose_run(runs, total, centers)
    fit = vars(best)
    summary = summarize(best.labels, source.store.tokens_of(source.site), k)
    summary = summary.assign(recovery=fit.pop("recovery"))
    settings = {"site": source.site, "head": source.head, "k": k, "seed": seed, "raw": raw}
    settings |= {"n_seeds": n_seeds, "mean": scaling[0], "scale": scaling[1]}
    return Clusters(**settings, **fit, summary=summary), runs


def _scaled(vectors: np.ndarray, scaling: Scaling) -> np.ndarray:
    return (vectors - scaling[0]) / scaling[1]


def _assign_part(source: Source, scaling: Scaling, centers: Centers, span: slice) -> Assigned:
    return assign((_scaled(block, scaling) for block in source.blocks(span)), centers)
