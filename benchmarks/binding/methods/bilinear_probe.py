"""Bilinear probe: logit(filler, role) = (r ⊗ f) · U h, all learned; an edit moves h up the difference of two logits.

Source: Lee, Viégas and Wattenberg 2026 (arXiv:2605.09967), who read a board's squares and colors so.
"""

from typing import Any

import numpy as np
import torch

from benchmarks.binding.structure import (
    READS_FILLERS,
    Array,
    Fitted,
    Pair,
    Structure,
    Swaps,
    standardize,
)

TITLE, PRIMARY = "bilinear probe", "fillers"
GRID = {"dimensions": [4, 8], "steps": [200], "strength": [0.5, 1.0, 2.0]}
CANNOT = READS_FILLERS
RATE, BATCH = 3e-2, 512


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **setting: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    names = [{n: k for k, n in enumerate(structure.names(side))} for side in (0, 1)]
    entries = [
        (i, names[0][f], names[1][r]) for i, pairs in enumerate(structure.pairs) for f, r in pairs
    ]
    row, filler, role = torch.tensor(entries).T
    inputs, k, sizes = torch.tensor(scaled).float(), setting["dimensions"], tuple(map(len, names))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        f, r = (torch.randn(n, k) for n in sizes)
        u, b = torch.randn(k, k, states.shape[1]) * 0.02, torch.zeros(sizes)
        free = [tensor.requires_grad_() for tensor in (f, r, u, b)]
        optimizer = torch.optim.Adam(free, RATE)
        for _ in range(setting["steps"]):
            i = torch.randint(len(row), (BATCH,))
            inner = torch.einsum("bd,jkd,bj->bk", inputs[row[i]], u, r[role[i]])
            optimizer.zero_grad()
            logits = inner @ f.T + b[:, role[i]].T
            torch.nn.functional.cross_entropy(logits, filler[i]).backward()
            optimizer.step()
    slopes = torch.einsum("fk,rj,jkd->frd", f, r, u).detach().double().numpy() / scale
    starts, filler_names = b.detach().double().numpy(), [*names[0]]

    def read(vectors: Array, structure: Structure) -> list[list[str]]:
        best = (np.einsum("bd,frd->bfr", vectors - mean, slopes) + starts).argmax(1)
        return [
            [filler_names[best[i, names[1][r]]] if r in names[1] else "" for _, r in pairs]
            for i, pairs in enumerate(structure.pairs)
        ]

    def swap(swaps: Swaps) -> Array:
        def change(i: int, before: Pair, after: Pair) -> Array | None:
            role = names[1].get(after[1])
            source, target = (names[0].get(pair[0]) for pair in (before, after))
            if None in (role, source, target) or before[1] != after[1]:
                return None
            toward = slopes[target, role] - slopes[source, role]
            ahead = starts[target, role] - starts[source, role] + toward @ (swaps.states[i] - mean)
            return -setting["strength"] * 2 * min(0, ahead) * toward / (toward @ toward)

        return swaps.edit(change)

    return Fitted(read, swap, sum(tensor.numel() for tensor in free))
