"""Our `tp.TPDecomposition`: the families of `tp.decompose`, but rank and penalties are chosen on withheld pairs."""

import numpy as np

import tprprobe as tp
from benchmarks.binding.methods.nested import replace_pairs
from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Structure, Swaps

TITLE, PRIMARY = "TPDecomposition (ours)", "states"
GRID: dict[str, list[float]] = {}  # rank and penalties are chosen by itself
CANNOT = MAKES_VECTORS


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int) -> Fitted:
    estimator = tp.TPDecomposition(family="factored", random_state=seed)
    estimator.fit(structure.pairs, states * _lengths(structure))

    def encode(structure: Structure) -> Array:
        return estimator.encode(structure.pairs) / _lengths(structure)

    return Fitted(
        lambda _, structure: encode(structure),
        lambda swaps: replace_pairs(swaps, structure, encode, estimator.project_out),
        estimator.readout_.size,
    )


def _lengths(structure: Structure) -> Array:
    """By what a vector is multiplied to be a sum over fillers: the number of fillers if it is a mean, or 1."""
    return np.array([[len(pairs) if structure.shares else 1] for pairs in structure.pairs])
