"""Linear probe: a ridge regression a role reads its filler; an edit moves a vector until the other is read."""

from typing import Any

import numpy as np

from benchmarks.binding.structure import (
    READS_FILLERS,
    Array,
    Fitted,
    Pair,
    Structure,
    Swaps,
    standardize,
)

TITLE, PRIMARY = "linear probe", "fillers"
GRID = {"penalty": [1e-3, 1e-1, 1e1], "strength": [1.0, 2.0]}
UNSEEN = "a filler that a role never had is no class"
CANNOT = READS_FILLERS | {"accuracy_withheld": UNSEEN, "interchange_withheld": UNSEEN}


def fit(states: Array, structure: Structure, _swaps: Swaps, _seed: int, **chosen: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    fillers, width = structure.names(0), states.shape[1]
    weights: dict[str, Array] = {}  # by role, [d + 1, filler]; NaN for fillers that it never had
    for role in structure.names(1):
        at = [(i, f) for i, of in enumerate(structure.pairs) for f, r in of if r == role]
        inputs = np.column_stack([scaled[[i for i, _ in at]], np.ones(len(at))])
        targets = np.eye(len(fillers))[[fillers.index(f) for _, f in at]]
        penalty = np.diag([chosen["penalty"] * width] * width + [1e-9]) + 1e-9 * np.eye(width + 1)
        weights[role] = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ targets)
        weights[role][:, targets.sum(0) == 0] = np.nan

    def read(found: Array, of: Structure) -> list[list[str]]:
        inputs = np.column_stack([(found - mean) / scale, np.ones(len(found))])
        best = {r: np.nan_to_num(inputs @ w, nan=-np.inf).argmax(1) for r, w in weights.items()}
        said = [[(i, r) for _, r in pairs] for i, pairs in enumerate(of.pairs)]
        return [[fillers[best[r][i]] if r in best else "" for i, r in of] for of in said]

    def change(_: int, old: Pair, new: Pair) -> Array | None:
        weight = weights.get(new[1], np.full((1, 1), np.nan))[:-1]
        kept = ~np.isnan(weight).any(0)
        apart = np.array([(f == new[0]) - (f == old[0]) for f in fillers], float)
        if old[1] != new[1] or not kept.any() or apart[~kept].any():
            return None
        return chosen["strength"] * scale * apart[kept] @ np.linalg.pinv(weight[:, kept], 1e-3)

    return Fitted(read, lambda swaps: swaps.edit(change), sum(w.size for w in weights.values()))
