"""Recovery of a filler from a sum of bindings, as their number grows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tprpapers.schlag.hadamard.variance import read_heads
from tprprobe.algebra import bind, duals, unbind
from tprprobe.errors import InputError
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
CANDIDATES, DRAWS = 256, 25
METHODS = tuple(
    (binding, unbinding) for binding in ("outer", "hadamard") for unbinding in ("duals", "learned")
)

Rows = Float[Tensor, "candidate d_head"]


def measure_unbinding(
    store: Store, pattern: str = "encoder.*.self.role", seed: int = 0
) -> pd.DataFrame:
    """:func:`unbind_sums` on the fillers and roles of every head at 256 random positions.

    Beside them ``vectors`` gaussian, of the same width: what is due to the algebra alone; and with
    ``untrained`` the randomly initialized twin's, where the store has a control.

    Raises:
        InputError: no such roles, or fillers of another shape beside them.
    """
    tables = []
    for place, bound in read_heads(store, pattern, CANDIDATES, seed):
        fillers, roles = torch.from_numpy(bound.fillers), torch.from_numpy(bound.roles)
        errors = unbind_sums(fillers, roles, seed=seed)
        tables.append(errors.assign(**place, vectors="model"))
    generator = torch.Generator().manual_seed(seed)
    shape = (2, CANDIDATES, int(tables[0]["d_head"].iloc[0]))
    fillers, roles = torch.randn(shape, generator=generator, dtype=torch.float64)
    errors = unbind_sums(fillers, roles, seed=seed)
    tables.append(errors.assign(vectors="gaussian", untrained=False))
    return pd.concat(tables, ignore_index=True).astype({"layer": "Int64", "head": "Int64"})


def unbind_sums(
    fillers: Float[Tensor, "candidate d_head"],
    roles: Float[Tensor, "candidate d_head"],
    counts: Sequence[int] = COUNTS,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """The error of each filler f_i recovered from the sum of n bindings of randomly drawn
    positions.

    One row per binding, unbinding and n. Duals are the pseudo-inverse of the n roles (outer) or 1/r
    (hadamard); learned are the vectors u of least E|f̂ − f|² for fillers drawn independently of the
    roles with the first and second moments of the candidates (:func:`learn_unbinding`).
    error        E|f̂ − f|² / E|f|²: outer 0 up to n = d independent roles; for white fillers then
                 (n − d) / n, and for hadamard with roles of ±1 n − 1 (duals), (n − 1) / n (learned)
    accuracy     the share of f̂ whose nearest candidate, by cosine, is f; chance is 1 / candidates;
                 low, high: 95 % interval over draws
    size         numbers in the sum: d² (outer), d (hadamard)
    Counts beyond the number of candidates are left out. Source: schlag Sec. 7 and appendix A.

    Raises:
        InputError: fewer candidates than the smallest count.
    """
    counts = [n for n in counts if n <= len(fillers)]
    if not counts:
        raise InputError(f"{len(fillers)} positions are too few to bind: extract more")
    rng = np.random.default_rng(seed)
    rows = []
    for n in counts:
        draws_of_rows = [rng.permutation(len(fillers))[:n] for _ in range(draws)]
        for kind, unbinding in METHODS:
            constituents = [
                _recover(fillers, roles, ids, (kind, unbinding)) for ids in draws_of_rows
            ]
            rows.append(
                {"binding": kind, "unbinding": unbinding, "n": n} | _summarize(constituents, seed)
            )
            rows[-1]["size"] = fillers.shape[1] ** (2 if kind == "outer" else 1)
    return pd.DataFrame(rows).assign(d_head=fillers.shape[1], candidates=len(fillers))


def learn_unbinding(
    roles: Float[Tensor, "role d_head"], fillers: Float[Tensor, "candidate d_head"], kind: str
) -> Float[Tensor, "role d_head"]:
    """u_i = argmin E|unbind(Σ_j bind(f_j, r_j), u_i) − f_i|², f_j independent with these moments.

    With m the mean and q the mean square of f, E[f_i f_j] is G = (q − m²) I + m² 1 1ᵀ: outer
    (Rᵀ G R)⁺ Rᵀ G, q and m² summed over dimensions; hadamard the same within each dimension.
    """
    power, square = fillers.square().mean(0), fillers.mean(0).square()
    if kind == "outer":
        root = _root(len(roles), power.sum(), square.sum())
        return torch.linalg.lstsq(root @ roles, root, driver="gelsd")[0].mT
    products = (power - square) * roles + square * roles.sum(0)  # E[f_i Σ_j f_j r_j]
    return products / (roles * products).sum(0)


def _root(n: int, power: Tensor, square: Tensor) -> Float[Tensor, "role role"]:
    """The symmetric square root of G."""
    difference = (power - square).sqrt()
    common = ((power - square + n * square).sqrt() - difference) / n
    return difference * torch.eye(n, dtype=power.dtype) + common


def _recover(fillers: Rows, roles: Rows, ids: np.ndarray, method: tuple[str, str]) -> np.ndarray:
    """One row per constituent of a sum: |f̂ − f|², |f|² and whether f is the nearest candidate."""
    bound, (kind, unbinding) = roles[ids], method
    total = bind(fillers[ids], bound, kind).sum(0)
    is_learned = unbinding == "learned"
    vectors = learn_unbinding(bound, fillers, kind) if is_learned else duals(bound, kind)
    recovered, target = unbind(total, vectors, kind), fillers[ids]
    cosine = F.normalize(recovered, dim=-1) @ F.normalize(fillers, dim=-1).T
    right = (cosine.argmax(1) == torch.from_numpy(ids)).double()
    return torch.stack(
        [(recovered - target).square().sum(1), target.square().sum(1), right], 1
    ).numpy()


def _summarize(constituents: Sequence[np.ndarray], seed: int) -> dict[str, float]:
    draws = np.repeat(np.arange(len(constituents)), [len(draw) for draw in constituents])
    error, size, right = np.concatenate(constituents).T
    accuracy = bootstrap_mean(right, draws, seed=seed, lowest=0)
    return {
        "error": float(error.sum() / size.sum()),
        "accuracy": accuracy.value,
        "low": accuracy.low,
        "high": accuracy.high,
    }
