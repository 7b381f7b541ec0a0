"""Gold columns put into words: what a field is called, and its values, wherever a name is printed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Field:
    """One or more gold columns whose values, clipped to least … most, become a text.

    `words` has the texts of values; others are put into `text`.
    """

    columns: tuple[str, ...]
    text: str = "{}"
    words: Mapping[Any, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None

    def describe(self, gold: pd.DataFrame) -> pd.Series:
        """The texts of a gold table's rows, missing where any of its columns is."""
        values = gold.loc[:, list(self.columns)]
        if self.least is not None or self.most is not None:
            values = values.clip(self.least, self.most)
        number = values.groupby(list(self.columns), observed=True).ngroup().fillna(-1).astype(int)
        codes, first = np.unique(number, return_index=True)
        rows = values.iloc[first[codes >= 0]].itertuples(index=False, name=None)
        return pd.Series(
            pd.Categorical.from_codes(number, pd.Index([*map(self._word, rows)], dtype=object)),
            gold.index,
        )

    def _word(self, key: tuple) -> str:
        value = key[0] if len(key) == 1 else key
        return self.words[value] if value in self.words else self.text.format(*key)


PLACES = {-1: "decimals", 0: "ones", 1: "tens", 2: "hundreds", 3: "thousands", 4: "ten thousands+"}
SURFACE = {"denominator": "behind ‘/’", "numerator": "not behind ‘/’"}
# The first field is the one every name begins with.
ARITHMETIC = {
    "kind": Field(("kind",)),
    "place": Field(("place",), words=PLACES, least=-1, most=4),
    "polarity": Field(("polarity",)),
    "polarity_global": Field(("polarity_global",), "global {}"),
    "flips": Field(("flips",), "{} flips", {1: "1 flip", 2: "2+ flips"}, most=2),
    "argument": Field(("slot", "parent"), "argument {} of {}"),
    "surface": Field(("surface_polarity",), words=SURFACE),
    "neg": Field(("neg",), words={True: "negative", False: "positive"}),
    "msd": Field(("msd",), words={True: "first digit", False: "later digit"}),
    "char": Field(("char",), "‘{}’"),
    "n_digits": Field(("n_digits",), "of {} digits", {1: "of 1 digit", 4: "of 4+ digits"}, most=4),
    "number": Field(("number",), "number {}", {3: "number 3+"}, most=3),
    "bracket_depth": Field(("bracket_depth",), "in {} brackets", {3: "in 3+ brackets"}, most=3),
    "tree_depth": Field(("tree_depth",), "depth {}", {4: "depth 4+"}, most=4),
    "word": Field(("word",), "“{}”"),
}


def describe(gold: pd.DataFrame, fields: Mapping[str, Field]) -> pd.DataFrame:
    """The fields of a gold table in words, one column per field, one row per row."""
    return pd.DataFrame({name: field.describe(gold) for name, field in fields.items()})
