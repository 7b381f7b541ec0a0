"""Bilinear probe: logit(filler, role) = (r ⊗ f) · U h, all learnt; an edit moves h up the difference of two logits.

Source: Lee, Viégas and Wattenberg 2026 (arXiv:2605.09967), who read a board's squares and colors so.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.binding.structure import Array, Pair, Structure, Swaps

TITLE, PRIMARY = "bilinear probe", "fillers"
GRID = {"dimensions": [4, 8], "steps": [200], "strength": [0.5, 1.0, 2.0]}
CANNOT = {"r2": "reads fillers, makes no vectors", "r2_withheld": "reads fillers, makes no vectors"}
RATE, BATCH = 3e-2, 512


@dataclass
class Probe:
    names: list[list[str]]  # fillers, roles
    directions: Array  # of the logit of every filler at every role, [filler, role, d]
    biases: Array
    mean: Array
    strength: float
    parameters: int

    def at(self, pair: Pair) -> tuple[int, int] | None:
        known = all(name in of for name, of in zip(pair, self.names, strict=True))
        return (self.names[0].index(pair[0]), self.names[1].index(pair[1])) if known else None

    def predict(self, states: Array, structure: Structure) -> list[list[str]]:
        logits = np.einsum("bd,frd->bfr", states - self.mean, self.directions) + self.biases
        best = logits.argmax(1)
        column = {role: k for k, role in enumerate(self.names[1])}
        return [
            [self.names[0][best[i, column[r]]] if r in column else "" for _, r in pairs]
            for i, pairs in enumerate(structure.pairs)
        ]

    def swap(self, swaps: Swaps) -> Array:
        edited = np.full_like(swaps.states, np.nan)
        for i in range(len(edited)):
            old, new = map(self.at, swaps.pair(i))
            if old is None or new is None or old[1] != new[1]:
                continue
            toward, bias = (
                self.directions[new] - self.directions[old],
                self.biases[new] - self.biases[old],
            )
            ahead = bias + toward @ (swaps.states[i] - self.mean)
            edited[i] = swaps.states[i] + self.strength * 2 * max(0, -ahead) * toward / (
                toward @ toward
            )
        return edited


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Probe:
    names = [sorted({pair[i] for pair in structure.known}) for i in (0, 1)]
    found = [
        (i, names[0].index(f), names[1].index(r))
        for i, pairs in enumerate(structure.pairs)
        for f, r in pairs
    ]
    row, filler, role = torch.tensor(found).T
    scale, k = states.std() + 1e-12, chosen["dimensions"]
    inputs = torch.tensor((states - states.mean(0)) / scale).float()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        shapes = [
            (len(names[0]), k),
            (len(names[1]), k),
            (k, k, states.shape[1]),
            (len(names[0]), len(names[1])),
        ]
        f, r, u, b = (
            torch.nn.Parameter(torch.randn(shape) * size)
            for shape, size in zip(shapes, (1, 1, 0.02, 0), strict=True)
        )
        optimizer = torch.optim.Adam([f, r, u, b], RATE)
        for _ in range(chosen["steps"]):
            at = torch.randint(len(row), (BATCH,))
            inner = torch.einsum("bd,jkd,bj->bk", inputs[row[at]], u, r[role[at]])
            loss = torch.nn.functional.cross_entropy(inner @ f.T + b[:, role[at]].T, filler[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    directions = torch.einsum("fk,rj,jkd->frd", f, r, u).detach().double().numpy() / scale
    size = sum(p.numel() for p in (f, r, u, b))
    return Probe(
        names, directions, b.detach().double().numpy(), states.mean(0), chosen["strength"], size
    )
