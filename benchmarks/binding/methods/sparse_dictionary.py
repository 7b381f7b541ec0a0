"""Sparse dictionary (scikit-learn's): a pair's feature is the one that tells best where it occurs; an edit sets two."""

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning

from benchmarks.binding.structure import Array, Pair, Structure, Swaps

TITLE, PRIMARY = "sparse dictionary", "swaps"
GRID = {"features": [32, 64], "sparsity": [4, 8]}
UNSEEN = "a pair that was never seen has no feature"
CANNOT = {
    "interchange_withheld": UNSEEN,
    "accuracy": "reads no fillers",
    "accuracy_withheld": "reads no fillers",
}


@dataclass
class Dictionary:
    model: Any
    scale: Array
    features: dict[
        Pair, tuple[int, float]
    ]  # the feature of a pair, and its mean where the pair occurs
    parameters: int

    def predict(self, states: Array, _structure: Structure) -> Array:
        """Vectors from themselves: what so many features can reach."""
        return self.encode(states) @ self.model.components_ * self.scale[1] + self.scale[0]

    def encode(self, states: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # vectors that are all the same
            return self.model.transform((states - self.scale[0]) / self.scale[1])

    def swap(self, swaps: Swaps) -> Array:
        edited, codes = np.full_like(swaps.states, np.nan), self.encode(swaps.states)
        for i in range(len(edited)):
            old, new = (self.features.get(pair) for pair in swaps.pair(i))
            if old and new:
                atoms = self.model.components_
                change = (new[1] - codes[i, new[0]]) * atoms[new[0]]
                change = change - (codes[i, old[0]] * atoms[old[0]] if old[0] != new[0] else 0)
                edited[i] = swaps.states[i] + change * self.scale[1]
        return edited


@functools.lru_cache(2)  # the dictionary does not depend on roles
def learn(content: bytes, width: int, features: int, sparsity: int, seed: int) -> tuple[Any, Array]:
    states = np.frombuffer(content).reshape(-1, width)
    scale = np.array([states.mean(0), np.full(width, states.std() + 1e-12)])
    model = MiniBatchDictionaryLearning(
        features,
        max_iter=20,
        batch_size=256,
        fit_algorithm="cd",
        transform_algorithm="omp",
        transform_n_nonzero_coefs=sparsity,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit((states - scale[0]) / scale[1]), scale


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Dictionary:
    content = np.ascontiguousarray(states, float).tobytes()
    model, scale = learn(content, states.shape[1], chosen["features"], chosen["sparsity"], seed)
    found = Dictionary(model, scale, {}, model.components_.size)
    codes, has = found.encode(states), structure.count(structure.known) > 0
    spread = codes - codes.mean(0)
    told = spread.T @ (has - has.mean(0)) / (spread.std(0)[:, None] * has.std(0) + 1e-12)
    for pair, at in structure.known.items():
        best = int(np.abs(told[:, at]).argmax())
        found.features[pair] = best, float(codes[has[:, at], best].mean())
    return found
