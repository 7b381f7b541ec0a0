"""Stores without a model whose vectors are sums of known role–filler bindings, and noise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

STATE, HIDDEN = "encoding", "encoder.0.hidden"
FILLERS = tuple("abcdefgh")
Roles = Callable[[list[str]], list[str]]


def left(fillers: list[str]) -> list[str]:
    return [str(i) for i in range(len(fillers))]


def right(fillers: list[str]) -> list[str]:
    return left(fillers)[::-1]


def both(fillers: list[str]) -> list[str]:
    return [f"{i}*{len(fillers) - 1 - i}" for i in range(len(fillers))]


def draw_sequences(n: int, seed: int = 0, longest: int = 6) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [list(rng.choice(FILLERS, size=rng.integers(1, longest + 1))) for _ in range(n)]


def bind(
    sequences: list[list[str]],
    roles: Roles,
    ranks: tuple[int, int] = (4, 3),
    width: int = 16,
    seed: int = 1,
) -> np.ndarray:
    """The vectors of tokens, W (f ⊗ r), of these ranks."""
    rng = np.random.default_rng(seed)
    names = sorted({role for sequence in sequences for role in roles(sequence)})
    f = dict(zip(FILLERS, rng.normal(size=(len(FILLERS), ranks[0])), strict=True))
    r = dict(zip(names, rng.normal(size=(len(names), ranks[1])), strict=True))
    w = rng.normal(size=(*ranks, width))
    pairs = [pair for sequence in sequences for pair in zip(sequence, roles(sequence), strict=True)]
    return np.stack([np.einsum("j,k,jkd->d", f[filler], r[role], w) for filler, role in pairs])


def plant_bindings(
    path: Path,
    roles: Roles | None = both,
    n: int = 600,
    noise: float = 0.3,
    seed: int = 0,
    width: int = 16,
    ranks: tuple[int, int] = (4, 3),
    twin: bool = False,
    **columns: Any,
) -> Store:
    """A store with one vector a sample (``encoding``) and one a token (``encoder.0.hidden``).

    Without ``roles`` the vectors are noise alone; noise is relative to the bindings' spread.
    """
    sequences = draw_sequences(n, seed)
    lengths = np.array([len(sequence) for sequence in sequences])
    rng = np.random.default_rng((seed, 1))
    sample = np.repeat(np.arange(n), lengths)
    tokens = rng.normal(size=(len(sample), width))
    if roles is not None:
        bound = bind(sequences, roles, ranks, width, seed + 1)
        tokens = bound + noise * bound.std() * tokens
    states = np.zeros((n, width))
    np.add.at(states, sample, tokens)
    flat = [token for row in sequences for token in row]
    table = {"side": "source", "sample": sample, "token": flat}
    table["position"] = [i for length in lengths for i in range(length)]
    for name, column_of in columns.items():
        table[name] = [token for row in sequences for token in column_of(row)]
    sites = {
        STATE: SiteSpec(("sample", "d_model"), (width,)),
        HIDDEN: SiteSpec(("source", "d_model"), (width,)),
    }
    writer = StoreWriter.create(path, sites, {"model": {"name": "planted"}, "data": "made"})
    writer.append({STATE: states, HIDDEN: tokens}, pd.DataFrame(table))
    writer.finish()
    if twin:
        plant_bindings(path / "untrained", None, n, noise, seed, width, **columns)
    return open_store(path)
