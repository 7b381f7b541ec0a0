"""PCA of equal rank: the vectors' own first components, as many as planted bindings have dimensions. Knows no roles."""

from dataclasses import dataclass

import numpy as np

from benchmarks.binding.structure import Array, Structure, Swaps

TITLE, PRIMARY = "PCA of equal rank", ""
GRID: dict[str, list[int]] = {}
RANK = 12  # 4 × 3
CANNOT = {
    name: "knows no roles"
    for name in (
        "accuracy",
        "accuracy_withheld",
        "interchange",
        "interchange_withheld",
        "others_kept",
        "named_right",
        "claims",
    )
}


@dataclass
class Components:
    mean: Array
    axes: Array
    parameters: int

    def predict(self, states: Array, _structure: Structure) -> Array:
        """Vectors from themselves, not from their symbols: what a fit of so many dimensions can reach."""
        return self.mean + (states - self.mean) @ self.axes.T @ self.axes

    def swap(self, _swaps: Swaps) -> None:
        return None


def fit(states: Array, _structure: Structure, _swaps: Swaps, _seed: int) -> Components:
    axes = np.linalg.svd(states - states.mean(0), full_matrices=False)[2][:RANK]
    return Components(states.mean(0), axes, axes.size + axes.shape[1])
