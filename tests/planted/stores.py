"""Stores of any vectors, the tables of their tokens, and their files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store


def read_files(folder: Path) -> dict[str, bytes]:
    """What every file below a folder holds."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def number_tokens(sequences: Sequence[Sequence[str]], side: str = "source") -> pd.DataFrame:
    """A row a token of samples of tokens."""
    rows = [(i, j, token) for i, tokens in enumerate(sequences) for j, token in enumerate(tokens)]
    table = pd.DataFrame(rows, columns=["sample", "position", "token"])
    return table.assign(side=side, word=table["position"])


def write_store(
    path: Path,
    vectors: Mapping[str, np.ndarray],
    tokens: pd.DataFrame,
    rows: str = "source",
    **facts: object,
) -> Store:
    """The store of vectors by site, of heads or not: a row a token of a side, or a row a sample."""
    axes = {2: (rows, "d_model"), 3: (rows, "head", "d_head")}
    specs = {name: SiteSpec(axes[v.ndim], v.shape[1:]) for name, v in vectors.items()}
    writer = StoreWriter.create(path, specs, {"model": {"name": "planted"}, "data": "made"} | facts)
    writer.append(dict(vectors), tokens)
    writer.finish()
    return open_store(path)
