"""DAS of rank k: a subspace a role, trained so that exchanging what lies in it for another vector's does the edit.

The subspace is trained towards the model's own vectors after the edit (the published loss reads the model's answer).
Source: Geiger et al. 2024 (arXiv:2303.02536).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.binding.structure import Array, Structure, Swaps

TITLE, PRIMARY = "DAS of rank k", "swaps"
GRID = {"rank": [4, 8, 16], "steps": [100]}
CANNOT = {name: "edits only" for name in ("r2", "r2_withheld", "accuracy", "accuracy_withheld")}
RATE = 3e-2


@dataclass
class Subspaces:
    roles: dict[str, int]
    bases: Array  # [role, d, rank]
    parameters: int

    def predict(self, _states: Array, _structure: Structure) -> None:
        return None

    def swap(self, swaps: Swaps) -> Array:
        edited = np.full_like(swaps.states, np.nan)
        for i in range(len(edited)):
            role = swaps.pair(i)[1][1]
            if role in self.roles:
                basis = self.bases[self.roles[role]]
                edited[i] = swaps.states[i] + basis @ (
                    basis.T @ (swaps.donors[i] - swaps.states[i])
                )
        return edited


def fit(states: Array, _structure: Structure, swaps: Swaps, seed: int, **chosen: Any) -> Subspaces:
    names = [swaps.pair(i)[1][1] for i in range(len(swaps.states))]
    roles = {name: k for k, name in enumerate(sorted(set(names)))}
    role, scale = torch.tensor([roles[name] for name in names]), states.std() + 1e-12
    apart, wanted = (
        torch.tensor((each - swaps.states) / scale).float()
        for each in (swaps.donors, swaps.targets)
    )
    generator = torch.Generator().manual_seed(seed)
    free = torch.randn(
        len(roles), states.shape[1], min(chosen["rank"], states.shape[1]), generator=generator
    )
    free.requires_grad_()
    optimizer = torch.optim.Adam([free], RATE)
    for _ in range(chosen["steps"]):
        basis = torch.linalg.qr(free)[0][role]
        moved = (basis @ (basis.transpose(1, 2) @ apart[..., None]))[..., 0]
        loss = ((moved - wanted) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    bases = torch.linalg.qr(free.detach())[0].double().numpy()
    return Subspaces(roles, bases, bases.size)
