"""Vectors of a sample's tokens as one: their mean, the first, the last, or that of the last token that reads as a mark."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprprobe.errors import InputError

MEAN, FIRST, LAST = "mean", "first", "last"
AFFIXES = ("##", "Ġ", "▁", " ")  # that mark where a sub-word stands in its word
Bounds = Int[np.ndarray, " span"]


def starts_of(samples: np.ndarray) -> Bounds:
    """The first token of every sample."""
    return np.flatnonzero(np.diff(samples, prepend=-1))


def rows_of(tokens: pd.DataFrame, pool: str) -> Int[np.ndarray, " sample"]:
    """The token of every sample whose vector is the pooled one, of any pool but the mean."""
    first = starts_of(tokens["sample"].to_numpy())
    if pool == FIRST:
        return first
    return np.append(first[1:], len(tokens)) - 1 if pool == LAST else _marks(tokens, pool)


def pool_spans(
    values: Float[np.ndarray, "token ..."], first: Bounds, state: str
) -> Float[np.ndarray, "span ..."]:
    """The mean, first or last vector of spans that follow one another; sums are of double precision."""
    if state == FIRST or not len(first):
        return values[first]
    ends = np.append(first[1:], len(values))
    if state == LAST:
        return values[ends - 1]
    sums = np.add.reduceat(values, first, axis=0, dtype=np.float64)
    return (sums / (ends - first).reshape(-1, *[1] * (values.ndim - 1))).astype(values.dtype)


def _marks(tokens: pd.DataFrame, mark: str) -> Int[np.ndarray, " sample"]:
    """The last token of every sample that reads as the mark."""
    symbols = tokens["token"].astype("category").cat
    read = symbols.categories.astype(str)
    for affix in AFFIXES:
        read = read.str.removeprefix(affix)
    found = np.isin(symbols.codes, np.flatnonzero(read == mark))
    samples = tokens["sample"].to_numpy()
    lacking = np.setdiff1d(samples, samples[found])
    if len(lacking):
        raise InputError(
            f"sample {lacking[0]} has no token {mark!r} to pool by: leave it out, or pool by {MEAN}, "
            f"{FIRST} or {LAST}"
        )
    at = np.flatnonzero(found)
    return at[np.append(np.diff(samples[at]) != 0, True)]
