"""Vectors in two dimensions: principal components, the axes that part classes, UMAP."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA

from tprprobe.analyses.clustering import Clusters
from tprprobe.errors import InputError, check_extra, unknown
from tprprobe.store import Store

ROWS = 8192  # of a block that is placed at once
FAR, SMALL = 3, 0.4  # times the distance of the quartiles; a share of the plane
MAX_FITTED = {"umap": 5_000}  # rows that axes are found on, where it takes long; others: 20,000

Rows = Float32[np.ndarray, "row width"]
Labels = Shaped[np.ndarray, " row"]
Place = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Projection:
    """Points in the plane, one a vector, and what the two axes are.

    ``explained`` is each axis's share: of the variance (pca), of the variance between class means
    (linear, of three classes or more); NaN where an axis has none. ``fitted`` are the rows that the axes were found on.
    ``place`` gives the places of other vectors on the same axes.
    """

    points: Float32[np.ndarray, "token 2"]
    method: str
    axes: tuple[str, str]
    explained: tuple[float, float]
    fitted: Bool[np.ndarray, " token"]
    place: Place


class Axes(NamedTuple):
    """Two axes: the places of the vectors that they were found on, of others, their names and shares."""

    points: np.ndarray
    place: Place
    names: tuple[str, str]
    explained: tuple[float, float] = (np.nan, np.nan)


def project(
    vectors: Float[np.ndarray, "token width"],
    method: str = "pca",
    labels: Shaped[np.ndarray, " token"] | None = None,
    seed: int = 0,
    fit: Bool[np.ndarray, " token"] | None = None,
    max_fitted: int = 20_000,
) -> Projection:
    """The vectors' places in the plane.

    pca     the two principal components
    linear  the two axes along which the means of classes lie furthest apart beside the spread inside classes
            (Fisher's discriminants; within-class covariance by Ledoit and Wolf). Of two classes there is one; then
            the second is the first component of the rest. Axes part those rows best that they were found on:
            what other rows show is what counts
    umap    UMAP with a fixed seed (needs ``umap-learn``)

    Axes are found on the rows ``fit`` (default: all), or on ``max_fitted`` of these, drawn at random.
    """
    if method not in METHODS:
        raise unknown("projection", method, METHODS)
    rows = np.arange(len(vectors)) if fit is None else np.flatnonzero(fit)
    if len(rows) < 3:
        raise InputError(f"{len(rows)} vectors to find axes on: give 3 or more")
    if len(rows) > max_fitted:
        rows = np.random.default_rng(seed).choice(rows, max_fitted, replace=False)
    is_fitted = np.isin(np.arange(len(vectors)), rows)
    fitted_labels = None if labels is None else labels[is_fitted]
    axes = METHODS[method](_finite(vectors[is_fitted]), fitted_labels, seed)
    points = np.empty((len(vectors), 2), np.float32)
    points[is_fitted] = axes.points
    unfitted = np.flatnonzero(~is_fitted)
    for start in range(0, len(unfitted), ROWS):
        block = unfitted[start : start + ROWS]
        points[block] = axes.place(_finite(vectors[block]))
    return Projection(points, method, axes.names, axes.explained, is_fitted, axes.place)


def _fit_principal(vectors: Rows, _: Labels | None, seed: int) -> Axes:
    if vectors.shape[1] < 2:
        raise InputError("vectors of one dimension have no plane: give wider ones")
    model = PCA(2, random_state=seed).fit(vectors)
    share_1, share_2 = map(float, model.explained_variance_ratio_)
    names = "1st principal component", "2nd principal component"
    return Axes(model.transform(vectors), model.transform, names, (share_1, share_2))


def _fit_discriminant(vectors: Rows, labels: Labels | None, _: int) -> Axes:
    if labels is None:
        raise InputError("the linear projection separates classes: give a label for every vector")
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError("all vectors are of one class: axes that part classes need two or more")
    center = vectors.mean(0, dtype=float)
    means = np.stack([vectors[index == i].mean(0, dtype=float) for i in range(len(classes))])
    axis_1, axis_2, *shares = _find_directions(means[index] - center, vectors - means[index])
    names, explained = ("1st discriminant", "2nd discriminant"), (shares[0], shares[1])
    if len(classes) == 2:
        axis_1 *= np.sign((means[1] - means[0]) @ axis_1)
        remainder = PCA(1).fit(vectors - np.outer(vectors @ axis_1, axis_1))
        axis_2 = np.asarray(remainder.components_)[0]
        names = f"{classes[0]} – {classes[1]}", "1st principal component of the rest"
        explained = (np.nan, np.nan)
    plane = np.stack([axis_1, axis_2], 1)
    place: Place = lambda x: (x - center) @ plane  # noqa: E731
    return Axes(place(vectors), place, names, explained)


def _find_directions(
    between: Float[np.ndarray, "row width"], within: Float[np.ndarray, "row width"]
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The two unit vectors w of largest wᵀBw / wᵀWw, and their shares of the sum of all such."""
    spread = ledoit_wolf(within, assume_centered=True)[0]
    if not np.trace(spread):  # classes are points
        spread = np.eye(len(spread))
    values, vectors = eigh(between.T @ between / len(between), spread)
    axis_1, axis_2 = (vector / np.linalg.norm(vector) for vector in vectors.T[::-1][:2])
    return axis_1, axis_2, float(values[-1] / values.sum()), float(values[-2] / values.sum())


def _fit_umap(vectors: Rows, _: Labels | None, seed: int) -> Axes:
    check_extra("umap", "umap", "the projection umap (others: pca, linear)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on small graphs, and of its own dependencies
        from umap import UMAP

        neighbors = min(15, len(vectors) - 1)
        model = UMAP(n_neighbors=neighbors, random_state=seed, n_jobs=1)
        points = model.fit_transform(vectors)
    return Axes(np.asarray(points), model.transform, ("UMAP 1", "UMAP 2"))


METHODS = {"pca": _fit_principal, "linear": _fit_discriminant, "umap": _fit_umap}


def _finite(vectors: np.ndarray) -> Float32[np.ndarray, "row width"]:
    block = np.asarray(vectors, np.float32)
    if not np.isfinite(block).all():
        raise InputError("vectors that are not finite cannot be projected: leave these rows out")
    return block


def place(store: Store, roles: Clusters, method: str = "pca", seed: int = 0) -> Projection:
    """The places of the clustered vectors, scaled as they were clustered."""
    scaled = _scale(roles, store.read(roles.site, None, roles.head))
    max_fitted = MAX_FITTED.get(method, 20_000)
    return project(scaled, method, roles.labels, seed, max_fitted=max_fitted)


def place_more(
    plane: Projection, roles: Clusters, vectors: Float[np.ndarray, "row ..."]
) -> Float32[np.ndarray, "row 2"]:
    """The places of more vectors of the same site on a plane's axes."""
    if plane.method == "umap":
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
