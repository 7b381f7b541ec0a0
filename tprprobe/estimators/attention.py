"""Which map points from words at related words: maps of words, and the map that points there most often."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator


def join_words(
    weights: Float[np.ndarray, "head query key"], words: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "head word word"]:
    """Maps of words: the sum over a word's keys, the mean over its queries; tokens of no word are left out."""
    member = (words[None] == np.arange(words.max(initial=-1) + 1)[:, None]).astype(np.float32)
    counts = np.maximum(member.sum(1, keepdims=True), 1)
    return np.einsum(
        "wq,hqk,vk->hwv", member / counts, np.nan_to_num(weights), member, optimize=True
    )


class PointingMap(BaseEstimator):
    """The map that is right for most words, of those that are given.

    Attributes:
        best_: Its number among the columns of X.
    """

    def fit(self, X: Any, y: Any = None) -> "PointingMap":
        """Chooses the column of X [word, map], which says whether a map points from a word at the related one."""
        self.best_ = int(np.asarray(X, float).mean(0).argmax())
        return self

    def predict(self, X: Any) -> Float[np.ndarray, " word"]:
        """Whether the chosen map is right for the words of X."""
        return np.asarray(X, float)[:, self.best_]
