"""Attention maps of questions, and the gold structure of their tokens."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.errors import InputError
from tprprobe.gold import join
from tprprobe.store import Store

SHIFT = 1  # a character of a question is one token behind: <sos> stands first


def find_divisions(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """The token of the '/' that divides by each digit of a denominator; −1 for every other token."""
    below = (tokens["polarity"] == "denominator").fillna(False).to_numpy(bool)
    is_divided = (
        below & (tokens["kind"] == "digit").to_numpy() & tokens["div_second"].notna().to_numpy()
    )
    return np.where(is_divided, tokens["div_second"].fillna(-1).to_numpy(int) + SHIFT, -1)


def find_maps(store: Store) -> list[str]:
    """The sites of the encoder's attention maps."""
    sites = store.select("encoder.*.self.attention")
    if not store.count_maps(sites[0]):
        raise InputError(f"{store.path} keeps no attention maps: extract with --attention-samples")
    return sites


def annotated_tokens(store: Store, samples: Sequence[int] | None = None) -> pd.DataFrame:
    """The source tokens of samples (all) with their gold columns."""
    tokens = store.tokens
    is_chosen = tokens["side"] == "source"
    if samples is not None:
        is_chosen &= tokens["sample"].isin(samples)
    return join(tokens.loc[is_chosen].reset_index(drop=True))


def gold_tokens(store: Store, samples: Sequence[int] | None = None) -> pd.DataFrame | None:
    """The tokens of :func:`annotated_tokens`; None for data that are no arithmetic."""
    try:
        return annotated_tokens(store, samples)
    except InputError:
        return None
