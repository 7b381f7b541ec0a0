"""Sparse dictionary (scikit-learn's): a pair's feature is the one that tells best where it occurs; an edit sets two."""

import functools
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning

from benchmarks.binding.structure import (
    MAKES_VECTORS,
    Array,
    Fitted,
    Pair,
    Structure,
    Swaps,
    standardize,
)

TITLE, PRIMARY = "sparse dictionary", "swaps"
GRID = {"features": [32, 64], "sparsity": [4, 8]}
CANNOT = MAKES_VECTORS | {"interchange_withheld": "a pair never seen has no feature"}
CANNOT |= {"named_right": "its features do not depend on roles"}


@functools.lru_cache(2)  # the dictionary does not depend on roles
def learn(content: bytes, width: int, features: int, sparsity: int, seed: int) -> Any:
    algorithms: Any = {"fit_algorithm": "cd", "transform_algorithm": "omp", "max_iter": 10}
    model = MiniBatchDictionaryLearning(features, transform_n_nonzero_coefs=sparsity, random_state=seed, **algorithms)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(np.frombuffer(content).reshape(-1, width))


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **setting: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    learn_options = (setting["features"], setting["sparsity"], seed)
    model = learn(np.ascontiguousarray(scaled).tobytes(), states.shape[1], *learn_options)
    atoms = model.components_

    def encode(vectors: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # vectors that are all the same
            return model.transform((vectors - mean) / scale)

    codes, has = encode(states), structure.count(structure.known) > 0
    covariance = (codes - codes.mean(0)).T @ (has - has.mean(0))
    correlations = np.abs(covariance / (codes.std(0)[:, None] * has.std(0) + 1e-12))
    best = {pair: int(correlations[:, k].argmax()) for pair, k in structure.known.items()}
    usual = {p: codes[has[:, k], best[p]].mean() for p, k in structure.known.items()}

    def swap(swaps: Swaps) -> Array:
        now = encode(swaps.states)

        def change(i: int, before: Pair, after: Pair) -> Array | None:
            if before not in best or after not in best:
                return None
            code = now[i].copy()
            code[best[before]] = 0
            code[best[after]] = usual[after]
            return (code - now[i]) @ atoms * scale

        return swaps.edit(change)

    return Fitted(lambda vectors, _: encode(vectors) @ atoms * scale + mean, swap, atoms.size)
