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


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    settings = (chosen["features"], chosen["sparsity"], seed)
    model = learn(np.ascontiguousarray(scaled).tobytes(), states.shape[1], *settings)
    atoms = model.components_

    def encode(found: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # vectors that are all the same
            return model.transform((found - mean) / scale)

    codes, has = encode(states), structure.count(structure.known) > 0
    apart = (codes - codes.mean(0)).T @ (has - has.mean(0))
    told = np.abs(apart / (codes.std(0)[:, None] * has.std(0) + 1e-12))
    best = {pair: int(told[:, k].argmax()) for pair, k in structure.known.items()}
    usual = {p: codes[has[:, k], best[p]].mean() for p, k in structure.known.items()}

    def swap(swaps: Swaps) -> Array:
        now = encode(swaps.states)

        def change(i: int, old: Pair, new: Pair) -> Array | None:
            if old not in best or new not in best:
                return None
            code = now[i].copy()
            code[best[old]] = 0
            code[best[new]] = usual[new]
            return (code - now[i]) @ atoms * scale

        return swaps.edit(change)

    return Fitted(lambda found, _: encode(found) @ atoms * scale + mean, swap, atoms.size)
