"""Attention relations between the symbols of a question: digits that look at their operator."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprprobe.analyses.attention.gold_maps import SHIFT

Flags = Bool[np.ndarray, " token"]
Numbers = Int[np.ndarray, " token"]  # the number of a digit, −1 elsewhere
Guess = Callable[[Flags, Numbers], Float[np.ndarray, "query key"]]


@dataclass(frozen=True)
class Gold:
    """Which digits an operator relates to itself: those whose ``column`` has this ``value``.

    ``place`` is the column that says where their operator stands, in characters.
    """

    column: str
    value: str | bool
    place: str

    def related(self, tokens: pd.DataFrame) -> Flags:
        """The digits of the tokens that are related."""
        digits = (tokens["kind"] == "digit").to_numpy()
        return (tokens[self.column] == self.value).fillna(False).to_numpy(bool) & digits

    def targets(self, tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
        """The token of each related digit's operator; −1 for every other token."""
        has_place = self.related(tokens) & tokens[self.place].notna().to_numpy()
        return np.where(has_place, tokens[self.place].fillna(-1).to_numpy(int) + SHIFT, -1)


@dataclass(frozen=True)
class Relation:
    """An attention relation: digits that look at their operator, read literally and by what it
    comes to (``net``).

    ``contrast`` are the digits that do not; ``guess`` is what needs no head: where a query looks that only
    knows operators and numbers. ``related`` and ``contrast`` name how they are drawn, too.
    """

    name: str
    operator: str
    related: str
    contrast: str
    literal: Gold
    net: Gold
    guess: Guess

    @property
    def golds(self) -> dict[str, Gold]:
        return {"literal": self.literal, "net": self.net}

    def operators(self, tokens: pd.DataFrame) -> Flags:
        """The tokens that are this operator."""
        is_it = (tokens["kind"] == "op") & (tokens["token"].astype(str) == self.operator)
        return is_it.to_numpy()


def nearest_left(operators: Flags, numbers: Numbers) -> Float[np.ndarray, "query key"]:
    """The nearest operator to the left of a digit; for an operator, the digits of the next number."""
    index, places = np.arange(len(operators)), np.flatnonzero(operators)
    digits = np.flatnonzero(numbers >= 0)
    weights = np.zeros((len(operators), len(operators)))
    for query in index[places[0] + 1 :]:
        weights[query, places[places < query][-1]] = 1
    for place in places:
        following = digits[digits > place]
        weights[place] = numbers == numbers[following[0]]
    return weights


DIVISION = Relation(
    name="division",
    operator="/",
    related="denominator",
    contrast="numerator",
    literal=Gold("literal", True, "parent_position"),
    net=Gold("polarity", "denominator", "div_second"),
    guess=nearest_left,
)
