"""Vectors of the digits of questions, grouped by the gold structure of the digit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from tprpapers.swaps.number_pairs import encoder_vectors
from tprprobe.data.pairs import encode_texts
from tprprobe.extraction.passes import read_block
from tprprobe.gold import annotate
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites

Cell = tuple[str, int, int, str]  # digit, place, digits of the number, polarity


@dataclass(frozen=True, eq=False)
class DigitVectors:
    """The vectors of digits at some sites, and which digits have the same gold structure."""

    vectors: dict[str, Tensor]  # of a site: [digit, *shape]
    cells: dict[Cell, Int[np.ndarray, " digit"]]

    def draw(self, cell: Cell, rng: np.random.Generator) -> int | None:
        """A random digit of a group; None if the group is empty."""
        digits = self.cells.get(cell)
        return None if digits is None else int(rng.choice(digits))


def read_digits(model: Model, questions: Sequence[str], kinds: Sequence[str]) -> DigitVectors:
    """The vectors of these kinds that a model's encoder gives to the digits of these questions.

    Raises:
        InputError: the vocabulary lacks a symbol.
    """
    vocabulary = require_vocabulary(model)
    pairs = encode_texts(list(questions), ["0"] * len(questions), vocabulary)
    sites = [site for site in find_sites(model) if encoder_vectors(site) in kinds]
    rows = read_block(model, pairs, sites, model.config.pad).rows
    gold = label_digits(questions)
    starts = pairs.source.offsets[:-1].numpy()[gold["question"].to_numpy(int)]
    token = starts + gold["position"].to_numpy(int) + int(vocabulary.source_start)
    keys = zip(gold["char"], gold["place"], gold["n_digits"], gold["polarity"], strict=True)
    cells: dict[Cell, list[int]] = {}
    for token_index, key in enumerate(keys):
        cells.setdefault(key, []).append(token_index)
    vectors = {site: torch.from_numpy(states[token]) for site, states in rows.items()}
    return DigitVectors(vectors, {key: np.array(indices) for key, indices in cells.items()})


def label_digits(questions: Sequence[str]) -> pd.DataFrame:
    """The digits of these questions that have a polarity: a row each, with its gold fields."""
    gold = annotate(questions)
    gold = gold[(gold["kind"] == "digit") & gold["polarity"].notna()]
    return gold.astype({"char": str, "place": int, "n_digits": int, "polarity": str})
