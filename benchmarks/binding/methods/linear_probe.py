"""Linear probe: a ridge regression a role reads its filler; an edit moves a vector until the other is read."""

from typing import Any

import numpy as np

from benchmarks.binding.structure import Array, Fitted, Pair, Structure, Swaps, standardize

TITLE, PRIMARY = "linear probe", "fillers"
GRID = {"penalty": [1e-3, 1e-1, 1e1], "strength": [1.0, 2.0]}
CANNOT = dict.fromkeys(("r2", "r2_withheld"), "reads fillers, makes no vectors")
CANNOT |= dict.fromkeys(
    ("accuracy_withheld", "interchange_withheld"), "a filler that a role never had is no class"
)


def fit(states: Array, structure: Structure, _swaps: Swaps, _seed: int, **chosen: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    fillers, width = structure.names(0), states.shape[1]
    weights: dict[str, Array] = {}  # by role, [d + 1, filler]; NaN for fillers that it never had
    for role in structure.names(1):
        at = [
            (i, fillers.index(f))
            for i, of in enumerate(structure.pairs)
            for f, r in of
            if r == role
        ]
        rows, labels = np.array(at).T
        inputs, classes = np.column_stack([scaled[rows], np.ones(len(rows))]), np.eye(len(fillers))
        penalty = np.diag([*np.full(width, chosen["penalty"] * width), 1e-9]) + 1e-9 * np.eye(
            width + 1
        )
        targets = classes[labels]
        weights[role] = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ targets)
        weights[role][:, targets.sum(0) == 0] = np.nan

    def read(found: Array, of: Structure) -> list[list[str]]:
        inputs = np.column_stack([(found - mean) / scale, np.ones(len(found))])
        best = {r: np.nan_to_num(inputs @ w, nan=-np.inf).argmax(1) for r, w in weights.items()}
        return [
            [fillers[best[r][i]] if r in best else "" for _, r in pairs]
            for i, pairs in enumerate(of.pairs)
        ]

    def change(_: int, old: Pair, new: Pair) -> Array | None:
        weight = weights.get(new[1], np.full((1, 1), np.nan))[:-1]
        kept = ~np.isnan(weight).any(0)
        apart = np.array([(f == new[0]) - (f == old[0]) for f in fillers], float)
        if old[1] != new[1] or not kept.any() or apart[~kept].any():
            return None
        return chosen["strength"] * scale * apart[kept] @ np.linalg.pinv(weight[:, kept], 1e-3)

    return Fitted(read, lambda swaps: swaps.edit(change), sum(w.size for w in weights.values()))
