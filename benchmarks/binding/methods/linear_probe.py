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


def fit(states: Array, structure: Structure, _swaps: Swaps, _seed: int, **setting: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    fillers, width = structure.names(0), states.shape[1]
    weights: dict[str, Array] = {}  # by role, [d + 1, filler]; NaN for fillers that it never had
    for role in structure.names(1):
        numbered = enumerate(structure.pairs)
        at_role = [(i, fillers.index(f)) for i, pairs in numbered for f, r in pairs if r == role]
        rows, codes = np.array(at_role).T
        inputs = np.column_stack([scaled[rows], np.ones(len(rows))])
        targets = np.eye(len(fillers))[codes]
        penalty = np.diag([setting["penalty"] * width] * width + [1e-9]) + 1e-9 * np.eye(width + 1)
        weights[role] = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ targets)
        weights[role][:, targets.sum(0) == 0] = np.nan

    def read(vectors: Array, structure: Structure) -> list[list[str]]:
        inputs = np.column_stack([(vectors - mean) / scale, np.ones(len(vectors))])
        best = {r: np.nan_to_num(inputs @ w, nan=-np.inf).argmax(1) for r, w in weights.items()}
        slots = [[(i, r) for _, r in pairs] for i, pairs in enumerate(structure.pairs)]
        return [[fillers[best[r][i]] if r in best else "" for i, r in row] for row in slots]

    def change(_: int, before: Pair, after: Pair) -> Array | None:
        weight = weights.get(after[1], np.full((1, 1), np.nan))[:-1]
        is_trained = ~np.isnan(weight).any(0)
        move = np.array([(f == after[0]) - (f == before[0]) for f in fillers], float)
        if before[1] != after[1] or not is_trained.any() or move[~is_trained].any():
            return None
        inverse = np.linalg.pinv(weight[:, is_trained], 1e-3)
        return setting["strength"] * scale * move[is_trained] @ inverse

    return Fitted(read, lambda swaps: swaps.edit(change), sum(w.size for w in weights.values()))
