"""Surgery: a filler replaced, moved to another role, or exchanged with another one, inside a vector.

The vector loses the bindings that a decomposition says it has, and gains others: e + Σ V[f', r'] − Σ V[f, r].
What the decomposition does not explain of the vector stays as it is.
"""

from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from tprprobe.analyses.decomposition import Decomposition
from tprprobe.errors import InputError, unknown
from tprprobe.interventions.placement import Edit, Place, Where, rows_for

Vectors = Float64[np.ndarray, "row d_model"]
CONTROLS = ("direction", "role")
Change = tuple[object, ...]  # of one sample
Changes = Change | Sequence[Change | None] | None
Bindings = list[tuple[str, str]]  # filler and role
CHANGES: dict[str, Callable[..., tuple[Bindings, Bindings]]] = {  # bindings: taken, added
    "replace": lambda role, f, g: ([(f, role)], [(g, role)]),
    "move": lambda filler, r, s: ([(filler, r)], [(filler, s)]),
    "exchange": lambda f, r, g, s: ([(f, r), (g, s)], [(f, s), (g, r)]),
}


def surgery(
    fit: Decomposition,
    replace: Changes = None,
    move: Changes = None,
    exchange: Changes = None,
    control: str | None = None,
    seed: int = 0,
    **where: Unpack[Where],
) -> Edit:
    """An edit that changes bindings at the chosen positions.

    Args:
        fit: The decomposition of the site. Where several layers are edited, each needs the fit of its site.
        replace: (role, old filler, new filler), or a list of one a sample (None: nothing).
        move: (filler, old role, new role), or a list.
        exchange: (filler, its role, other filler, its role), or a list: both take the other's role.
        control: ``direction``: a random direction of equal norm; ``role``: the same fillers at a wrong role, the one whose
            vectors are least like; default: the edit itself.
        seed: Seed of the random direction.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit, for :func:`intervene`.

    Raises:
        InputError: A filler or role that the fit does not have, or an unknown control.

    Examples:
        >>> edit = tp.interventions.surgery(fit, replace=("1", "1", "2"), positions=[1])
        >>> edit(torch.zeros(1, 3, 96), ("batch", "seq", "d_model")).shape
        torch.Size([1, 3, 96])
    """
    if control is not None and control not in CONTROLS:
        raise unknown("control", control, CONTROLS)
    change = change_of(fit, replace, move, exchange, control == "role")
    if control == "direction":
        change = draw_directions(change, np.random.default_rng(seed))
    shift = torch.as_tensor(change)

    def add(x: Tensor, place: Place) -> Tensor:
        vector = x.shape[place.seq + 1 :] if "seq" in place.axes else x.shape[1:]  # with its heads
        rows = rows_for(shift.to(x), x)
        return x + rows.reshape(len(x), *(1,) * (x.ndim - 1 - len(vector)), *vector)

    return Edit(add, **where)


def draw_directions(change: Vectors, rng: np.random.Generator) -> Vectors:
    """Random directions, as long as the changes."""
    directions = rng.normal(size=change.shape)
    norms = [np.linalg.norm(array, axis=1, keepdims=True) for array in (change, directions)]
    return directions * norms[0] / norms[1]


def change_of(
    fit: Decomposition,
    replace: Changes = None,
    move: Changes = None,
    exchange: Changes = None,
    elsewhere: bool = False,
) -> Vectors:
    """What the changes add to a vector, a row a sample (one row where all samples change alike)."""
    lists = [_listed(changes) for changes in (replace, move, exchange)]
    sizes = {len(changes) for changes in lists if len(changes) > 1}
    if len(sizes) > 1:
        raise InputError(f"changes of {sorted(sizes)} samples: give one a sample in every list")
    n = max([*sizes, *(len(changes) for changes in lists), 1])
    total, wrong = np.zeros((n, len(fit.fit.bias))), find_wrong_roles(fit) if elsewhere else {}
    for kind, listed in zip(CHANGES.values(), lists, strict=True):
        for row, change in enumerate(listed):
            if change is None:
                continue
            removed, added = kind(*map(str, change))
            if elsewhere:
                changes = removed, added
                removed, added = ([(f, wrong.get(r, r)) for f, r in pairs] for pairs in changes)
            difference = fit.bindings(added).sum(0) - fit.bindings(removed).sum(0)
            total[slice(None) if len(listed) == 1 else row] += difference
    return total


def _listed(changes: Changes) -> list[Change | None]:
    if not changes:
        return []
    return [changes] if isinstance(changes[0], str | int) else list(changes)  # type: ignore[list-item]


def find_wrong_roles(fit: Decomposition) -> dict[str, str]:
    """For every role the one whose fillers' vectors are least like its own."""
    pairs = fit.fit.pairs
    fillers, roles = (list(map(str, names)) for names in (pairs.fillers, pairs.roles))
    every = fit.bindings([(filler, role) for role in roles for filler in fillers])
    vectors = every.reshape(len(roles), len(fillers), -1)
    flat = (vectors - vectors.mean(1, keepdims=True)).reshape(len(roles), -1)
    likeness = flat @ flat.T / np.maximum(np.linalg.norm(flat, axis=1), 1e-12)
    return {role: roles[i] for role, i in zip(roles, likeness.argmin(1).tolist(), strict=True)}
