"""Our `tp.TPDecomposition`: the families of `tp.decompose`, but rank and penalties are chosen on withheld pairs."""

import numpy as np

import tprprobe as tp
from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Structure, Swaps

TITLE, PRIMARY = "TPDecomposition (ours)", "states"
GRID: dict[str, list[float]] = {}  # rank and penalties are chosen by itself
CANNOT = MAKES_VECTORS


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int) -> Fitted:
    estimator = tp.TPDecomposition(family="factored", random_state=seed)
    estimator.fit(structure.pairs, states * _lengths(structure))

    def encode(of: Structure) -> Array:
        return estimator.encode(of.pairs) / _lengths(of)

    return Fitted(
        lambda _, of: encode(of),
        lambda swaps: swaps.states + encode(swaps.after) - encode(swaps.before),
        estimator.readout_.size,
    )


def _lengths(of: Structure) -> Array:
    """By what a vector is multiplied to be a sum over fillers: the number of fillers if it is a mean, or 1."""
    return np.array([[len(pairs) if of.shares else 1] for pairs in of.pairs])
