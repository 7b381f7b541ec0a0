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


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Fitted:
    scaled, mean, scale = standardize(states)
    names = [{n: k for k, n in enumerate(structure.names(part))} for part in (0, 1)]
    at = [(i, names[0][f], names[1][r]) for i, of in enumerate(structure.pairs) for f, r in of]
    row, filler, role = torch.tensor(at).T
    inputs, k, sizes = torch.tensor(scaled).float(), chosen["dimensions"], tuple(map(len, names))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        f, r = (torch.randn(n, k) for n in sizes)
        u, b = torch.randn(k, k, states.shape[1]) * 0.02, torch.zeros(sizes)
        free = [each.requires_grad_() for each in (f, r, u, b)]
        optimizer = torch.optim.Adam(free, RATE)
        for _ in range(chosen["steps"]):
            i = torch.randint(len(row), (BATCH,))
            inner = torch.einsum("bd,jkd,bj->bk", inputs[row[i]], u, r[role[i]])
            optimizer.zero_grad()
            logits = inner @ f.T + b[:, role[i]].T
            torch.nn.functional.cross_entropy(logits, filler[i]).backward()
            optimizer.step()
    slopes = torch.einsum("fk,rj,jkd->frd", f, r, u).detach().double().numpy() / scale
    starts, known = b.detach().double().numpy(), [*names[0]]

    def read(found: Array, of: Structure) -> list[list[str]]:
        best = (np.einsum("bd,frd->bfr", found - mean, slopes) + starts).argmax(1)
        return [
            [known[best[i, names[1][r]]] if r in names[1] else "" for _, r in pairs]
            for i, pairs in enumerate(of.pairs)
        ]

    def swap(swaps: Swaps) -> Array:
        def change(i: int, old: Pair, new: Pair) -> Array | None:
            role = names[1].get(new[1])
            one, other = (names[0].get(pair[0]) for pair in (old, new))
            if None in (role, one, other) or old[1] != new[1]:
                return None
            toward = slopes[other, role] - slopes[one, role]
            ahead = starts[other, role] - starts[one, role] + toward @ (swaps.states[i] - mean)
            return -chosen["strength"] * 2 * min(0, ahead) * toward / (toward @ toward)

        return swaps.edit(change)

    return Fitted(read, swap, sum(each.numel() for each in free))
