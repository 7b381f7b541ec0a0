"""Attention maps of samples, the tokens that are queries and keys, and which of these gold structure relates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprprobe.analyses.attention.head_relations import TASK, pair_words
from tprprobe.errors import InputError
from tprprobe.gold import join
from tprprobe.gold.labels import WORD
from tprprobe.store import Store

SHIFT = 1  # a character of a question is one token behind: <sos> stands first


def find_divisions(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """The token of the '/' that divides by each digit of a denominator; −1 for every other token."""
    below = (tokens["polarity"] == "denominator").fillna(False).to_numpy(bool)
    is_digit, divisor = (tokens["kind"] == "digit").to_numpy(), tokens["div_second"]
    is_divided = below & is_digit & divisor.notna().to_numpy()
    return np.where(is_divided, tokens["div_second"].fillna(-1).to_numpy(int) + SHIFT, -1)


def find_maps(store: Store) -> list[str]:
    """The sites of the encoder's attention maps."""
    sites = store.select("encoder.*.self.attention")
    if not store.count_maps(sites[0]):
        raise InputError(f"{store.path} has no attention maps: extract with --sites '*.attention'")
    return sites


def annotated_tokens(store: Store, samples: Sequence[int] | None = None) -> pd.DataFrame:
    """The source tokens of samples (all) with their gold columns."""
    tokens = store.tokens
    is_chosen = tokens["side"] == "source"
    if samples is not None:
        is_chosen &= tokens["sample"].isin(samples)
    return join(tokens.loc[is_chosen].reset_index(drop=True))


def gold_tokens(store: Store, samples: Sequence[int] | None = None) -> pd.DataFrame | None:
    """The tokens of :func:`annotated_tokens`; None for data that are no arithmetic, as numbers alone are none."""
    try:
        tokens = annotated_tokens(store, samples)
    except InputError:
        return None
    return tokens if tokens["kind"].isin(["op", "worded"]).any() else None


@dataclass(frozen=True, eq=False)
class Maps:
    """The maps of a site and a sample: weights, and the tokens of queries and of keys."""

    site: str
    sample: int
    weights: Float[np.ndarray, "head query key"]
    queries: pd.DataFrame
    keys: pd.DataFrame

    @property
    def is_self(self) -> bool:
        return self.queries.equals(self.keys)


def read_maps(store: Store, site: str, sample: int) -> Maps:
    """The attention maps of one sample, with its tokens.

    Args:
        store: The store.
        site: A site of attention maps; layer -1 is the last.
        sample: The number of the sample.

    Returns:
        The maps, with the tables of the tokens that are queries and keys.

    Raises:
        InputError: No such site, no maps of that sample, or no tokens in it.

    Examples:
        >>> tp.dashboard.read_maps(store, "encoder.-1.self.attention", 0).is_self
        True
    """
    name, weights = store.select(site)[0], store.attention(site, sample)
    if not weights.size:
        raise InputError(f"sample {sample} has no tokens to attend to: choose another")
    queries, keys = (_tokens(store, sample, side) for side in store.specs[name].rows.split("_"))
    return Maps(name, sample, np.nan_to_num(weights.astype(np.float32)), queries, keys)


def _tokens(store: Store, sample: int, side: str) -> pd.DataFrame:
    of_side = store.tokens[store.tokens["side"] == side].reset_index(drop=True)
    tokens = of_side[of_side["sample"] == sample]
    return tokens.assign(row=tokens.index).reset_index(drop=True)


def gold_pairs(store: Store, maps: Maps) -> tuple[list[tuple[int, int]], str]:
    """Related tokens as positions (query, key), and what relates them; nothing for samples without such a relation."""
    if not maps.is_self:
        return [], ""
    if TASK in maps.queries and WORD in maps.queries:
        return pair_words(maps.queries), "a word and the word that it depends on"
    gold = gold_tokens(store, [maps.sample]) if store.has_questions else None
    if gold is None:
        return [], ""
    targets = find_divisions(gold)
    related = np.flatnonzero(targets >= 0)
    pairs = zip(related.tolist(), targets[related].tolist(), strict=True)
    return list(pairs), "a denominator's digit and its ‘/’"
