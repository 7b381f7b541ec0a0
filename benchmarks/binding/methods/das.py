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


def fit(states: Array, _structure: Structure, swaps: Swaps, seed: int, **chosen: Any) -> Fitted:
    roles = {name: k for k, name in enumerate(sorted({new[1] for _, new in swaps.pairs}))}
    role, scale = torch.tensor([roles[new[1]] for _, new in swaps.pairs]), standardize(states)[2]
    moves = (each - swaps.states for each in (swaps.donors, swaps.targets))
    apart, wanted = (torch.tensor(move / scale).float() for move in moves)
    rank = min(chosen["rank"], states.shape[1])
    generator = torch.Generator().manual_seed(seed)
    free = torch.randn(len(roles), states.shape[1], rank, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([free], RATE)
    for _ in range(chosen["steps"]):
        basis = torch.linalg.qr(free)[0][role]
        moved = (basis @ (basis.transpose(1, 2) @ apart[..., None]))[..., 0]
        optimizer.zero_grad()
        ((moved - wanted) ** 2).mean().backward()
        optimizer.step()
    bases = torch.linalg.qr(free.detach())[0].double().numpy()

    def swap(of: Swaps) -> Array:
        def change(i: int, _: Pair, new: Pair) -> Array | None:
            if new[1] not in roles:
                return None
            basis = bases[roles[new[1]]]
            return basis @ (basis.T @ (of.donors[i] - of.states[i]))

        return of.edit(change)

    return Fitted(None, swap, bases.size)
