"""The gold structure of the questions whose attention maps a store keeps, as arrays to index maps by."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from tprprobe.errors import InputError
from tprprobe.gold import join
from tprprobe.store import Store

GOLD = ("literal", "net")
SHIFT = 1  # a character of a question is one token behind: <sos> stands first

Flags = Bool[np.ndarray, " token"]


@dataclass(frozen=True, eq=False)
class Marks:
    """One question, token by token.

    ``target`` has, for the digits that are a second argument of a division, the index of its '/',
    else −1: literally (the immediate parent), and net (denominators after all flips). ``numerator``
    are the digits that are none, by the same two. ``intervening`` are numerators between two
    denominators of the same multiplicative term, ``around`` the denominators of such a term.
    """

    sample: int
    question: str
    slash: Flags
    number: Int[np.ndarray, " token"]  # the number of a digit, −1 elsewhere
    term: Int[np.ndarray, " token"]  # its multiplicative term, −1 elsewhere
    target: dict[str, Int[np.ndarray, " token"]]
    numerator: dict[str, Flags]
    around: Flags
    intervening: Flags

    def __len__(self) -> int:
        return len(self.slash)


def kept_samples(store: Store, site: str) -> int:
    """How many samples have attention maps of the site."""
    return store.manifest["lengths"].get(f"{store.specs[site].rows}_sample", 0)


def find_maps(store: Store) -> list[str]:
    """The sites of the encoder's attention maps.

    Raises:
        InputError: the store has none, or keeps them of no sample.
    """
    sites = store.select("encoder.*.self.attention")
    if not kept_samples(store, sites[0]):
        raise InputError(f"{store.path} keeps no attention maps: extract with --attention-samples")
    return sites


def annotated_tokens(store: Store, samples: int) -> pd.DataFrame:
    """The source tokens of the first samples with their gold columns."""
    tokens = store.tokens
    source = (tokens["side"] == "source") & (tokens["sample"] < samples)
    return join(tokens.loc[source].reset_index(drop=True))


def mark_questions(store: Store, samples: int) -> Iterator[Marks]:
    """The marks of every question that has a division among the first samples.

    Raises:
        InputError: these are no arithmetic questions read character by character.
    """
    for sample, tokens in annotated_tokens(store, samples).groupby("sample", sort=True):
        marks = _mark(int(str(sample)), tokens)
        if marks.slash.any():
            yield marks


def _mark(sample: int, tokens: pd.DataFrame) -> Marks:
    digit = (tokens["kind"] == "digit").to_numpy()
    slash = ((tokens["kind"] == "op") & (tokens["token"].astype(str) == "/")).to_numpy()
    denominator = {
        "literal": tokens["literal"].fillna(False).to_numpy(bool) & digit,
        "net": (tokens["polarity"] == "denominator").to_numpy() & digit,
    }
    place = {
        "literal": _integers(tokens, "parent_position"),
        "net": _integers(tokens, "div_second"),
    }
    term = np.where(digit, _integers(tokens, "term"), -1)
    around, intervening = _skipping(term, denominator["net"])
    return Marks(
        sample=sample,
        question=str(tokens["question"].iloc[0]),
        slash=slash,
        number=np.where(digit, _integers(tokens, "number"), -1),
        term=term,
        target={gold: np.where(denominator[gold], place[gold] + SHIFT, -1) for gold in GOLD},
        numerator={gold: digit & ~denominator[gold] for gold in GOLD},
        around=around,
        intervening=intervening,
    )


def _skipping(term: Int[np.ndarray, " token"], denominator: Flags) -> tuple[Flags, Flags]:
    """The digits of denominators around a numerator of the same term, and of such numerators."""
    around, intervening = np.zeros_like(denominator), np.zeros_like(denominator)
    for each in range(term.max(initial=-1) + 1):
        below = np.flatnonzero((term == each) & denominator)
        if len(below):
            between = (term == each) & ~denominator
            between[: below[0]] = between[below[-1] :] = False
            intervening |= between
            around[below] |= between.any()
    return around, intervening


def _integers(tokens: pd.DataFrame, column: str) -> Int[np.ndarray, " token"]:
    return tokens[column].fillna(-1).to_numpy(int)
