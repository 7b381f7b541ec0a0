"""Product TPR by SGD (the published way): e ≈ b + Σ B (f ⊗ r), all learned by Adam. Source: McCoy et al. 2019."""

from typing import Any

import torch
from torch import Tensor

from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Structure, Swaps, standardize

TITLE, PRIMARY = "product TPR by SGD", "states"
GRID = {"dimensions": [8, 16, 24], "steps": [300]}
CANNOT = MAKES_VECTORS
RATE, BATCH, START = 3e-3, 256, 0.05


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **setting: Any) -> Fitted:
    inputs, mean, scale = standardize(states)
    names = [{n: k for k, n in enumerate(structure.names(side))} for side in (0, 1)]

    def number(structure: Structure) -> Tensor:
        """Filler, role and weight of every pair, [3, sequence, place]; weight 0 where empty or unknown."""
        entries = torch.zeros(3, len(structure.pairs), max(map(len, structure.pairs)))
        for i, pairs in enumerate(structure.pairs):
            for j, (f, r) in enumerate(pairs):
                if f in names[0] and r in names[1]:
                    weight = 1 / len(pairs) if structure.shares else 1.0
                    entries[:, i, j] = torch.tensor([names[0][f], names[1][r], weight])
        return entries

    def bind(entries: Tensor) -> Tensor:
        f, r = fillers[entries[0].long()], roles[entries[1].long()]
        return torch.einsum("bl,blj,blk->bjk", entries[2], f, r).flatten(1) @ readout + bias

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        k, width = setting["dimensions"], states.shape[1]
        fillers, roles = (torch.randn(len(numbers_by_name), k) * START for numbers_by_name in names)
        readout, bias = torch.randn(k * k, width) / k, torch.zeros(width)
        free = [tensor.requires_grad_() for tensor in (fillers, roles, readout, bias)]
        optimizer, targets = torch.optim.Adam(free, RATE), torch.tensor(inputs).float()
        entries = number(structure)
        for _ in range(setting["steps"]):
            rows = torch.randint(len(targets), (BATCH,))
            optimizer.zero_grad()
            ((bind(entries[:, rows]) - targets[rows]) ** 2).mean().backward()
            optimizer.step()

    def encode(structure: Structure) -> Array:
        return bind(number(structure)).detach().double().numpy() * scale + mean

    return Fitted(
        lambda _, structure: encode(structure),
        lambda swaps: swaps.states + encode(swaps.after) - encode(swaps.before),
        sum(tensor.numel() for tensor in free),
    )
