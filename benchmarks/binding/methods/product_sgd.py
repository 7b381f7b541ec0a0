"""Product TPR by SGD (the published way): e ≈ b + Σ B (f ⊗ r), all learnt by Adam. Source: McCoy et al. 2019."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.binding.structure import Array, Structure, Swaps

TITLE, PRIMARY = "product TPR by SGD", "states"
GRID = {"dimensions": [8, 16, 24], "steps": [300]}
CANNOT: dict[str, str] = {}
RATE, BATCH, START = 3e-3, 256, 0.05


class Product(nn.Module):
    """Embeddings of fillers and roles, and B; what was not fitted adds nothing."""

    def __init__(self, structure: Structure, width: int, dimensions: int):
        super().__init__()
        self.numbers = [
            {n: k + 1 for k, n in enumerate(sorted({p[i] for p in structure.known}))}
            for i in (0, 1)
        ]
        sizes = [(len(of) + 1, dimensions) for of in self.numbers]
        self.fillers, self.roles = (nn.Parameter(torch.randn(size) * START) for size in sizes)
        self.readout = nn.Parameter(torch.randn(dimensions**2, width) / dimensions)
        self.bias = nn.Parameter(torch.zeros(width))
        self.parameters_ = sum(p.numel() for p in self.parameters())

    def number(self, structure: Structure) -> Tensor:
        """The numbers of fillers and roles and the weight of every pair, [3, sequence, place]; 0 where empty."""
        found = torch.zeros(3, len(structure.pairs), max(map(len, structure.pairs)))
        for i, pairs in enumerate(structure.pairs):
            for j, pair in enumerate(pairs):
                at = [of.get(name, 0) for of, name in zip(self.numbers, pair, strict=True)]
                found[:, i, j] = torch.tensor([*at, 1 / len(pairs) if structure.shares else 1.0])
        return found

    def forward(self, at: Tensor) -> Tensor:
        known = at[2] * (at[0] > 0) * (at[1] > 0)
        f, r = self.fillers[at[0].long()], self.roles[at[1].long()]
        return torch.einsum("bl,blj,blk->bjk", known, f, r).flatten(1) @ self.readout + self.bias


@dataclass
class Fit:
    model: Product
    scale: Array
    parameters: int

    @torch.no_grad()
    def predict(self, _states: Array, structure: Structure) -> Array:
        return (
            self.model(self.model.number(structure)).double().numpy() * self.scale[1]
            + self.scale[0]
        )

    def swap(self, swaps: Swaps) -> Array:
        return (
            swaps.states
            + self.predict(swaps.states, swaps.after)
            - self.predict(swaps.states, swaps.before)
        )


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int, **chosen: Any) -> Fit:
    scale = np.array([states.mean(0), np.full(states.shape[1], states.std() + 1e-12)])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Product(structure, states.shape[1], chosen["dimensions"])
        at, wanted = model.number(structure), torch.tensor((states - scale[0]) / scale[1]).float()
        optimizer = torch.optim.Adam(model.parameters(), RATE)
        for _ in range(chosen["steps"]):
            rows = torch.randint(len(wanted), (BATCH,))
            loss = ((model(at[:, rows]) - wanted[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Fit(model, scale, model.parameters_)
