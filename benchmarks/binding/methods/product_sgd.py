"""Product TPR by SGD (the published way): e ≈ b + Σ B (f ⊗ r), all learned by Adam. Source: McCoy et al. 2019."""

from typing import Any

import torch
from torch import Tensor

from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Structure, Swaps, standardize

TITLE, PRIMARY = "product TPR by SGD", "states"
GRID = {"dimensions": [8, 16, 24], "steps": [300]}
CANNOT = MAKES_VECTORS
RATE, BATCH, START = 3e-3, 256, 0.05


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Fitted:
    inputs, mean, scale = standardize(states)
    names = [{n: k for k, n in enumerate(structure.names(part))} for part in (0, 1)]

    def number(of: Structure) -> Tensor:
        """Filler, role and weight of every pair, [3, sequence, place]; weight 0 where empty or unknown."""
        found = torch.zeros(3, len(of.pairs), max(map(len, of.pairs)))
        for i, pairs in enumerate(of.pairs):
            for j, (f, r) in enumerate(pairs):
                if f in names[0] and r in names[1]:
                    weight = 1 / len(pairs) if of.shares else 1.0
                    found[:, i, j] = torch.tensor([names[0][f], names[1][r], weight])
        return found

    def bind(at: Tensor) -> Tensor:
        f, r = fillers[at[0].long()], roles[at[1].long()]
        return torch.einsum("bl,blj,blk->bjk", at[2], f, r).flatten(1) @ readout + bias

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        k, width = chosen["dimensions"], states.shape[1]
        fillers, roles = (torch.randn(len(of), k) * START for of in names)
        readout, bias = torch.randn(k * k, width) / k, torch.zeros(width)
        free = [each.requires_grad_() for each in (fillers, roles, readout, bias)]
        optimizer, wanted = torch.optim.Adam(free, RATE), torch.tensor(inputs).float()
        at = number(structure)
        for _ in range(chosen["steps"]):
            rows = torch.randint(len(wanted), (BATCH,))
            optimizer.zero_grad()
            ((bind(at[:, rows]) - wanted[rows]) ** 2).mean().backward()
            optimizer.step()

    def encode(of: Structure) -> Array:
        return bind(number(of)).detach().double().numpy() * scale + mean

    return Fitted(
        lambda _, of: encode(of),
        lambda swaps: swaps.states + encode(swaps.after) - encode(swaps.before),
        sum(each.numel() for each in free),
    )
