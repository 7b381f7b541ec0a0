"""Difference of means: a pair's vector is the mean of the vectors that have it, less that of all at its role."""

import numpy as np

from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Pair, Structure, Swaps

TITLE, PRIMARY = "difference of means", "states"
GRID: dict[str, list[float]] = {}
CANNOT = MAKES_VECTORS | {"r2_withheld": "a pair never seen has no mean"}
CANNOT |= {"interchange_withheld": "a pair never seen has no mean"}


def fit(states: Array, structure: Structure, _swaps: Swaps, _seed: int) -> Fitted:
    has, mean = structure.count(structure.known) > 0, states.mean(0)
    roles = np.array([role for _, role in structure.known])
    vectors: dict[Pair, Array] = {}
    for pair, column in structure.known.items():
        at_role = has[:, roles == pair[1]].any(1)
        vectors[pair] = states[has[:, column]].mean(0) - states[at_role].mean(0)

    def predict(_: Array, structure: Structure) -> Array:
        differences = [[vectors[p] for p in pairs if p in vectors] for pairs in structure.pairs]
        return np.stack([mean + np.sum([0 * mean, *terms], 0) for terms in differences])

    def change(_: int, before: Pair, after: Pair) -> Array | None:
        return vectors[after] - vectors[before] if before in vectors and after in vectors else None

    return Fitted(predict, lambda swaps: swaps.edit(change), len(vectors) * len(mean))
