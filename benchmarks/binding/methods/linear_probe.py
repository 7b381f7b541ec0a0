"""Linear probe: a ridge regression a role reads its filler; an edit moves a vector along it until the other is read."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.binding.structure import Array, Structure, Swaps

TITLE, PRIMARY = "linear probe", "fillers"
GRID = {"penalty": [1e-3, 1e-1, 1e1], "strength": [1.0, 2.0]}
UNSEEN = "a class that a role never had in training is none of its classes"
CANNOT = {
    "r2": "reads fillers, makes no vectors",
    "r2_withheld": "reads fillers, makes no vectors",
    "accuracy_withheld": UNSEEN,
    "interchange_withheld": UNSEEN,
}


@dataclass
class Probes:
    fillers: list[str]
    weights: dict[str, Array]  # by role, [1 + d, filler]; NaN for fillers that it never had
    strength: float
    parameters: int

    def predict(self, states: Array, structure: Structure) -> list[list[str]]:
        inputs = np.column_stack([np.ones(len(states)), states])
        scores = {role: np.nan_to_num(inputs @ w, nan=-np.inf) for role, w in self.weights.items()}
        return [
            [self.fillers[scores[r][i].argmax()] if r in scores else "" for _, r in pairs]
            for i, pairs in enumerate(structure.pairs)
        ]

    def swap(self, swaps: Swaps) -> Array:
        edited = np.full_like(swaps.states, np.nan)
        for i in range(len(edited)):
            (old, role), (new, now) = swaps.pair(i)
            if role != now or role not in self.weights:
                continue
            weight = self.weights[role][1:]
            change = np.zeros(len(self.fillers))
            change[self.fillers.index(new)], change[self.fillers.index(old)] = 1, -1
            kept = ~np.isnan(weight[0])
            if kept[change != 0].all():
                edited[i] = swaps.states[i] + self.strength * change[kept] @ np.linalg.pinv(
                    weight[:, kept], 1e-3
                )
        return edited


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Probes:
    names = sorted({f for f, _ in structure.known})
    rows: dict[str, list[tuple[int, int]]] = {}
    for i, pairs in enumerate(structure.pairs):
        for filler, role in pairs:
            rows.setdefault(role, []).append((i, names.index(filler)))
    weights = {}
    for role, found in rows.items():
        at, label = np.array(found).T
        inputs, classes = np.column_stack([np.ones(len(at)), states[at]]), np.eye(len(names))[label]
        ridge = chosen["penalty"] * states.var(0).sum() * np.diag(
            [0.0, *np.ones(states.shape[1])]
        ) + 1e-9 * np.eye(1 + states.shape[1])
        weights[role] = np.linalg.solve(inputs.T @ inputs + ridge, inputs.T @ classes)
        weights[role][:, classes.sum(0) == 0] = np.nan
    return Probes(names, weights, chosen["strength"], sum(w.size for w in weights.values()))
