"""Difference of means: a pair's vector is the mean of the vectors that have it, less the mean of all at its role."""

from dataclasses import dataclass

import numpy as np

from benchmarks.binding.structure import Array, Pair, Structure, Swaps

TITLE, PRIMARY = "difference of means", "states"
GRID: dict[str, list[float]] = {}
UNSEEN = "a pair that was never seen has no mean"
CANNOT = {
    "r2_withheld": UNSEEN,
    "interchange_withheld": UNSEEN,
    "accuracy": "reads no fillers",
    "accuracy_withheld": "reads no fillers",
}


@dataclass
class Means:
    vectors: dict[Pair, Array]
    mean: Array
    parameters: int

    def predict(self, _states: Array, structure: Structure) -> Array:
        nothing = np.zeros_like(self.mean)
        return np.stack(
            [
                self.mean + sum(self.vectors.get(p, nothing) for p in pairs)
                for pairs in structure.pairs
            ]
        )

    def swap(self, swaps: Swaps) -> Array:
        unknown = np.full_like(self.mean, np.nan)
        pairs = [swaps.pair(i) for i in range(len(swaps.states))]
        change = [
            self.vectors.get(new, unknown) - self.vectors.get(old, unknown) for old, new in pairs
        ]
        return swaps.states + np.reshape(change, swaps.states.shape)


def fit(states: Array, structure: Structure, _swaps: Swaps, _seed: int) -> Means:
    has = structure.count(structure.known) > 0
    roles = np.array([role for _, role in structure.known])
    vectors = {}
    for pair, at in structure.known.items():
        vectors[pair] = states[has[:, at]].mean(0) - states[has[:, roles == pair[1]].any(1)].mean(0)
    return Means(vectors, states.mean(0), len(vectors) * states.shape[1])
