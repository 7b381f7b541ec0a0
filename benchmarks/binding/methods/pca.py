"""PCA of equal rank: the vectors' first components, as many as planted bindings have dimensions. Knows no roles."""

import numpy as np

from benchmarks.binding.structure import Array, Fitted, Structure, Swaps

TITLE, PRIMARY = "PCA of equal rank", ""
GRID: dict[str, list[int]] = {}
RANK = 12  # 4 × 3
UNASKED = ("accuracy", "accuracy_withheld", "interchange", "interchange_withheld", "others_kept")
CANNOT = dict.fromkeys((*UNASKED, "named_right"), "knows no roles")


def fit(states: Array, _structure: Structure, _swaps: Swaps, _seed: int) -> Fitted:
    mean = states.mean(0)
    axes = np.linalg.svd(states - mean, full_matrices=False)[2][:RANK]

    def predict(vectors: Array, _: Structure) -> Array:
        """Vectors from themselves, not from their symbols: what so many dimensions can reach."""
        return mean + (vectors - mean) @ axes.T @ axes

    return Fitted(predict, None, axes.size + len(mean))
