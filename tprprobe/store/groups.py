"""Groups of samples, which no split divides and of which every interval draws."""

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

DOCUMENT, QUESTION = "document", "question"


def group_tokens(tokens: pd.DataFrame, column: str | None = None) -> Int[np.ndarray, " token"]:
    """The group of every token: samples of one document, and samples with one sequence, are one group.

    Groups are the connected components: if two documents have a sentence in common, both are one
    group. A model gives the same sentence the same vectors, so one of two copies would tell what the
    other is. Groups are numbered in the order in which they appear.

    Args:
        tokens: a row a token, the tokens of a sample in one piece, with the column ``sample``;
            ``document`` counts where it is there and not empty.
        column: the symbols by which sequences are compared. By default it is the ``question``, the
            text that was read, in any case (``Thanks``, ``thanks``); without it, the ``token``.
    """
    sample = pd.factorize(tokens["sample"])[0]
    first = np.flatnonzero(np.diff(sample, prepend=-1))
    keys = [_texts(tokens, DOCUMENT, first), _sequences(tokens, column, first)]
    return _components(keys, len(first))[sample]


def _texts(tokens: pd.DataFrame, name: str, first: Int[np.ndarray, " sample"]) -> pd.Series:
    """What a column says of every sample; empty where it says nothing."""
    if name not in tokens:
        return pd.Series([""] * len(first), dtype=object)
    column = tokens[name].iloc[first].astype(object).reset_index(drop=True)
    return column.where(column.notna(), "").astype(str)


def _sequences(
    tokens: pd.DataFrame, column: str | None, first: Int[np.ndarray, " sample"]
) -> pd.Series:
    codes = pd.factorize(tokens[column or "token"])[0]
    spans = map(slice, first, [*first[1:], len(codes)])
    keys = pd.Series([codes[span].tobytes() for span in spans], dtype=object)
    read = _texts(tokens, QUESTION if column is None else "", first).str.casefold()
    return keys.where(read == "", read)


def _components(keys: list[pd.Series], n: int) -> Int[np.ndarray, " sample"]:
    """The component of every sample, of those that share a key directly or by way of others."""
    owners, nodes, last = [np.arange(n)], [np.arange(n)], n
    for key in keys:
        codes, values = pd.factorize(key.mask(key == ""))
        known = np.flatnonzero(codes >= 0)
        owners.append(known)
        nodes.append(last + codes[known])
        last += len(values)
    edges = (np.concatenate(owners), np.concatenate(nodes))
    graph = coo_array((np.ones(len(edges[0])), edges), shape=(last, last))
    return pd.factorize(connected_components(graph, directed=False)[1][:n])[0]
