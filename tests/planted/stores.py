"""Stores of any vectors, and the tables of their tokens."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store


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
    """The store of vectors by site: a row a token of a side, or a row a sample."""
    specs = {
        name: SiteSpec((rows, "d_model"), values.shape[1:]) for name, values in vectors.items()
    }
    writer = StoreWriter.create(path, specs, {"model": {"name": "planted"}, "data": "made"} | facts)
    writer.append(dict(vectors), tokens)
    writer.finish()
    return open_store(path)
