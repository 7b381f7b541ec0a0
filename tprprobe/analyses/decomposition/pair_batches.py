"""Pairs by their symbol on one axis, in batches of symbols that have equally many pairs: what would be a
loop over thousands of fillers is a few products of stacked matrices.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

MOST = 2**14  # pairs of a batch


class PairBatch(NamedTuple):
    """Symbols, and the pairs of each."""

    symbols: Int[np.ndarray, " symbol"]
    pairs: Int[np.ndarray, "symbol pair"]


def batch_pairs(of: Int[np.ndarray, " pair"]) -> Iterator[PairBatch]:
    """All pairs, given the symbol of each."""
    order, sizes = np.argsort(of, kind="stable"), np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        symbols = np.flatnonzero(sizes == size)
        for some in np.array_split(symbols, -(-len(symbols) * size // MOST)):
            if len(some):
                yield PairBatch(some, order[starts[some][:, None] + np.arange(size)])
