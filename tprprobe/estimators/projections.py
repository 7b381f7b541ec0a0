"""Vectors in the plane: principal components, the axes that part classes, UMAP."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA

from tprprobe.errors import InputError, check_extra, unknown

Rows = Float32[np.ndarray, "row width"]


class PlaneProjection(TransformerMixin, BaseEstimator):
    """The places of vectors in the plane.

    pca     the two principal components
    linear  the two axes along which the means of classes y lie furthest apart beside the spread inside classes
            (Fisher's discriminants; within-class covariance by Ledoit and Wolf). Of two classes there is one; then
            the second is the first component of the rest
    umap    UMAP with a fixed seed (needs ``umap-learn``)

    Args:
        method: pca, linear or umap.
        random_state: Seed of random choices.

    Attributes:
        embedding_: The places of the vectors that it was fitted to.
        axes_: What the two axes are.
        explained_: Each axis's share: of the variance (pca), of the variance between class means (linear, of three
            classes or more); NaN where an axis has none.
    """

    def __init__(self, method: str = "pca", random_state: int = 0):
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "PlaneProjection":
        """Finds the axes.

        Raises:
            InputError: No such method, vectors of one dimension, or no classes.
        """
        fits = {
            "pca": self._fit_principal,
            "linear": self._fit_discriminant,
            "umap": self._fit_umap,
        }
        if self.method not in fits:
            raise unknown("projection", self.method, fits)
        self.explained_ = (np.nan, np.nan)
        self.embedding_ = fits[self.method](X, y)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "row 2"]:
        """The places of vectors on these axes."""
        if self.method == "linear":
            return (X - self._center) @ self._plane
        return self._model.transform(X)

    def _fit_principal(self, vectors: Rows, _: Any) -> np.ndarray:
        if vectors.shape[1] < 2:
            raise InputError("vectors of one dimension have no plane: give wider ones")
        self._model = PCA(2, random_state=self.random_state).fit(vectors)
        share_1, share_2 = map(float, self._model.explained_variance_ratio_)
        self.axes_ = ("1st principal component", "2nd principal component")
        self.explained_ = (share_1, share_2)
        return self._model.transform(vectors)

    def _fit_discriminant(
        self, vectors: Rows, labels: Shaped[np.ndarray, " row"] | None
    ) -> np.ndarray:
        if labels is None:
            raise InputError(
                "the linear projection separates classes: give a label for every vector"
            )
        names, index = np.unique(labels, return_inverse=True)
        if len(names) < 2:
            raise InputError(
                "all vectors are of one class: axes that part classes need two or more"
            )
        self._center = vectors.mean(0, dtype=float)
        means = np.stack([vectors[index == i].mean(0, dtype=float) for i in range(len(names))])
        axis_1, axis_2, *shares = _find_directions(
            means[index] - self._center, vectors - means[index]
        )
        self.axes_, self.explained_ = (
            ("1st discriminant", "2nd discriminant"),
            (shares[0], shares[1]),
        )
        if len(names) == 2:
            axis_1 *= np.sign((means[1] - means[0]) @ axis_1)
            residual_pca: Any = PCA(1).fit(vectors - np.outer(vectors @ axis_1, axis_1))
            axis_2 = residual_pca.components_[0]
            self.axes_ = f"{names[0]} – {names[1]}", "1st principal component of the rest"
            self.explained_ = (np.nan, np.nan)
        self._plane = np.stack([axis_1, axis_2], 1)
        return self.transform(vectors)

    def _fit_umap(self, vectors: Rows, _: Any) -> np.ndarray:
        check_extra("umap", "umap", "the projection umap (others: pca, linear)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on small graphs, and of its own dependencies
            from umap import UMAP

            neighbors = min(15, len(vectors) - 1)
            self._model: Any = UMAP(n_neighbors=neighbors, random_state=self.random_state, n_jobs=1)
            points = self._model.fit_transform(vectors)
        self.axes_ = ("UMAP 1", "UMAP 2")
        return points


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
