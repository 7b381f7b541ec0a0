"""DAS of rank k: a subspace a role, trained so that to take what lies in it from a donor does the edit.

It is trained towards the model's own vectors after the edit (the published loss reads the model's answer).
Source: Geiger et al. 2024 (arXiv:2303.02536).
"""

from typing import Any

import torch

from benchmarks.binding.structure import Array, Fitted, Pair, Structure, Swaps, standardize

TITLE, PRIMARY = "DAS of rank k", "swaps"
GRID = {"rank": [4, 8, 16], "steps": [100]}
CANNOT = dict.fromkeys(("r2", "r2_withheld", "accuracy", "accuracy_withheld"), "edits only")
CANNOT |= {"named_right": "compares no schemes"}
RATE = 3e-2


def fit(states: Array, _structure: Structure, swaps: Swaps, seed: int, **setting: Any) -> Fitted:
    roles = {name: k for k, name in enumerate(sorted({after[1] for _, after in swaps.pairs}))}
    role, scale = (
        torch.tensor([roles[after[1]] for _, after in swaps.pairs]),
        standardize(states)[2],
    )
    moves = (vectors - swaps.states for vectors in (swaps.donors, swaps.targets))
    differences, targets = (torch.tensor(move / scale).float() for move in moves)
    rank = min(setting["rank"], states.shape[1])
    generator = torch.Generator().manual_seed(seed)
    free = torch.randn(len(roles), states.shape[1], rank, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([free], RATE)
    for _ in range(setting["steps"]):
        basis = torch.linalg.qr(free)[0][role]
        moved = (basis @ (basis.transpose(1, 2) @ differences[..., None]))[..., 0]
        optimizer.zero_grad()
        ((moved - targets) ** 2).mean().backward()
        optimizer.step()
    bases = torch.linalg.qr(free.detach())[0].double().numpy()

    def swap(swaps: Swaps) -> Array:
        def change(i: int, _: Pair, after: Pair) -> Array | None:
            if after[1] not in roles:
                return None
            basis = bases[roles[after[1]]]
            return basis @ (basis.T @ (swaps.donors[i] - swaps.states[i]))

        return swaps.edit(change)

    return Fitted(None, swap, bases.size)
