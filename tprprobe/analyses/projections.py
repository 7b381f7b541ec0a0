"""Vectors in two dimensions: principal components, the axes that part classes, UMAP.

UMAP of a store's vectors, which takes minutes, is kept in the store.
"""

import contextlib
import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32, Shaped
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA

from tprprobe.analyses.clustering import Clusters
from tprprobe.console import track
from tprprobe.errors import InputError, check_extra, unknown
from tprprobe.files.writing import whole
from tprprobe.store import Store

METHODS = ("pca", "linear", "umap")
ROWS = 8192  # of a block that is placed at once
FOLDER = "views"  # in the store
FAR, SMALL = 3, 0.4  # times the distance of the quartiles; a share of the plane
NEIGHBORS = 5_000  # rows that UMAP is fitted on

Blocks = Callable[[Sequence[slice]], Iterable[slice]]


class Plane(NamedTuple):
    """A plane: the projected fit set, and the function that places other vectors."""

    points: Float[np.ndarray, "row 2"]
    place: Callable[[np.ndarray], np.ndarray]
    axes: tuple[str, str]
    explained: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Projection:
    """Points in the plane, one a vector, and what the two axes are.

    ``explained`` is each axis's share: of the variance (pca), of the variance between class means
    (linear, of three classes or more); NaN where an axis has none. ``fitted`` are the rows that the axes were found on.
    ``place`` gives the places of other vectors on the same axes; None where only places were kept.
    """

    points: Float32[np.ndarray, "token 2"]
    method: str
    axes: tuple[str, str]
    explained: tuple[float, float]
    fitted: Bool[np.ndarray, " token"]
    place: Callable[[np.ndarray], np.ndarray] | None = None


def project(
    vectors: Float[np.ndarray, "token width"],
    method: str = "pca",
    labels: Shaped[np.ndarray, " token"] | None = None,
    seed: int = 0,
    fit: Bool[np.ndarray, " token"] | None = None,
    progress: Blocks = iter,
    most: int = 20_000,
) -> Projection:
    """The vectors' places in the plane.

    pca     the two principal components
    linear  the two axes along which the means of classes (``labels``) lie furthest apart beside the
            spread inside classes (Fisher's discriminants; within-class covariance by Ledoit and
            Wolf). Of two classes there is one; then the second is the first component of the rest
    umap    UMAP with a fixed seed (needs ``umap-learn``)

    Axes are found on the rows ``fit`` (default: all), or on ``most`` of these, drawn at random;
    ``progress`` wraps the list of blocks of rows that are then placed. Axes that part classes part
    those they were found on best: what other rows show is what counts.
    """
    if method not in METHODS:
        raise unknown("projection", method, METHODS)
    fitted = _choose(len(vectors), fit, most, seed)
    known = _finite(vectors[fitted])
    if method == "pca":
        plane = _principal(known, seed)
    elif method == "umap":
        plane = _neighbors(known, seed)
    elif labels is None:
        raise InputError("the linear projection separates classes: give a label for every vector")
    else:
        plane = _discriminant(known, labels[fitted])
    points = np.empty((len(vectors), 2), np.float32)
    points[fitted] = plane.points
    others = np.flatnonzero(~fitted)
    blocks = [slice(start, start + ROWS) for start in range(0, len(others), ROWS)]
    for block in progress(blocks):
        points[others[block]] = plane.place(_finite(vectors[others[block]]))
    return Projection(points, method, plane.axes, plane.explained, fitted, plane.place)


def _choose(n: int, fit: np.ndarray | None, most: int, seed: int) -> Bool[np.ndarray, " token"]:
    rows = np.arange(n) if fit is None else np.flatnonzero(fit)
    if len(rows) < 3:
        raise InputError(f"{len(rows)} vectors to find axes on: give 3 or more")
    if len(rows) > most:
        rows = np.random.default_rng(seed).choice(rows, most, replace=False)
    return np.isin(np.arange(n), rows)


def _finite(vectors: np.ndarray) -> Float32[np.ndarray, "row width"]:
    block = np.asarray(vectors, np.float32)
    if not np.isfinite(block).all():
        raise InputError("vectors that are not finite cannot be projected: leave these rows out")
    return block


def _principal(vectors: Float32[np.ndarray, "row width"], seed: int) -> Plane:
    if vectors.shape[1] < 2:
        raise InputError("vectors of one dimension have no plane: give wider ones")
    found = PCA(2, random_state=seed).fit(vectors)
    first, second = map(float, found.explained_variance_ratio_)
    axes = "1st principal component", "2nd principal component"
    return Plane(found.transform(vectors), found.transform, axes, (first, second))


def _discriminant(
    vectors: Float32[np.ndarray, "row width"], labels: Shaped[np.ndarray, " row"]
) -> Plane:
    names, index = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise InputError("all vectors are of one class: axes that part classes need two or more")
    center = vectors.mean(0, dtype=float)
    means = np.stack([vectors[index == each].mean(0, dtype=float) for each in range(len(names))])
    first, second, *shares = _directions(means[index] - center, vectors - means[index])
    axes, explained = ("1st discriminant", "2nd discriminant"), (shares[0], shares[1])
    if len(names) == 2:
        first *= np.sign((means[1] - means[0]) @ first)
        rest = vectors - np.outer(vectors @ first, first)
        component: Any = PCA(1).fit(rest).components_
        second = component[0]
        axes = f"{names[0]} – {names[1]}", "1st principal component of the rest"
        explained = np.nan, np.nan
    place = partial(_place, center, np.stack([first, second], 1))
    return Plane(place(vectors), place, axes, explained)


def _directions(
    between: Float[np.ndarray, "row width"], within: Float[np.ndarray, "row width"]
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The two unit vectors w of largest wᵀBw / wᵀWw, and their shares of the sum of all such."""
    spread = ledoit_wolf(within, assume_centered=True)[0]
    if not np.trace(spread):  # classes are points
        spread = np.eye(len(spread))
    values, vectors = eigh(between.T @ between / len(between), spread)
    first, second = (each / np.linalg.norm(each) for each in vectors.T[::-1][:2])
    return first, second, float(values[-1] / values.sum()), float(values[-2] / values.sum())


def _place(
    center: np.ndarray, plane: Float[np.ndarray, "width 2"], vectors: np.ndarray
) -> Float[np.ndarray, "row 2"]:
    return (vectors - center) @ plane


def _neighbors(vectors: Float32[np.ndarray, "row width"], seed: int) -> Plane:
    check_extra("umap", "umap", "the projection umap (others: pca, linear)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on small graphs, and of its own dependencies
        from umap import UMAP

        found: Any = UMAP(n_neighbors=min(15, len(vectors) - 1), random_state=seed, n_jobs=1)
        points = found.fit_transform(vectors)
    return Plane(points, found.transform, ("UMAP 1", "UMAP 2"), (np.nan, np.nan))


def place(store: Store, roles: Clusters, method: str = "pca", seed: int = 0) -> Projection:
    """The places of the clustered vectors, scaled as they were clustered."""
    scaled = _scale(roles, store.read(roles.site, None, roles.head))
    if method != "umap":
        return project(scaled, method, roles.labels, seed)
    return _kept(store, roles, scaled.astype(np.float32), seed)


def place_more(
    plane: Projection, roles: Clusters, vectors: Float[np.ndarray, "row ..."]
) -> Float32[np.ndarray, "row 2"]:
    """The places of more vectors of the same site on a plane's axes."""
    if plane.place is None or plane.method == "umap":
        raise InputError(f"{plane.method} cannot place new vectors: choose pca or linear")
    return plane.place(_scale(roles, vectors)).astype(np.float32)


def choose_view(points: Float[np.ndarray, "token 2"]) -> list[float]:
    """The part of the plane that is shown first, left, right, below, above: without what lies far from all else, as the
    enormous states do that language models have at their first token.
    """
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    far = FAR * (high - low)
    low, high = (low - far).clip(0), (high + far).clip(max=1)
    is_far = (high > low) & (high - low < SMALL)
    low, high = np.where(is_far, low, 0), np.where(is_far, high, 1)
    margin = 0.03 * (high - low)
    return np.stack([low - margin, high + margin], 1).ravel().tolist()


def _scale(roles: Clusters, vectors: np.ndarray) -> Float[np.ndarray, "row width"]:
    scaled = (vectors.reshape(len(vectors), -1) - roles.mean) / roles.scale
    if scaled.shape[1] < 2:
        scaled = np.concatenate([scaled, np.zeros_like(scaled)], 1)
    return scaled


def _kept(
    store: Store, roles: Clusters, vectors: Float32[np.ndarray, "token width"], seed: int
) -> Projection:
    """UMAP of the vectors: read from the store where it was computed before, else computed and kept.

    The file's name has what it depends on: site, head, scaling, seed and the vectors themselves.
    """
    digest = hashlib.sha256(vectors.tobytes()).hexdigest()[:16]
    head = "all" if roles.head is None else roles.head
    file = store.path / FOLDER / f"umap-{roles.site}-{head}-{seed}-{digest}.parquet"
    if file.is_file():
        kept = pd.read_parquet(file)
        points = kept[["x", "y"]].to_numpy(np.float32)
        nothing = (float("nan"), float("nan"))
        return Projection(points, "umap", ("UMAP 1", "UMAP 2"), nothing, kept["fitted"].to_numpy())
    chosen = np.zeros(len(vectors), bool)
    rng = np.random.default_rng(seed)
    chosen[rng.permutation(len(vectors))[:NEIGHBORS]] = True
    found = project(
        vectors, "umap", seed=seed, fit=chosen, progress=lambda each: track(each, "UMAP", len(each))
    )
    points = pd.DataFrame(found.points, columns=["x", "y"]).assign(fitted=found.fitted)
    with contextlib.suppress(InputError), whole(file) as begun:  # else computed again next time
        points.to_parquet(begun)
    return found
