"""Sums over the maps of one question: every score of a head is a ratio of such sums, or two."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.attention.gold_maps import GOLD, Marks
from tprprobe.analyses.attention.relations import Flags

Maps = Float[np.ndarray, "head query key"]
Pairs = tuple[Float[np.ndarray, "query key"], int]  # weights of the pairs added up, over how many

WAYS = ("rows", "columns")
SCORES = ("mass", "argmax_accuracy", "selectivity")
SKIPPING = ("around", "intervening", "skip")
KEYS = [
    *((way, gold, score) for way in WAYS for gold in GOLD for score in SCORES),
    *((way, "net", score) for way in WAYS for score in SKIPPING),
]
IS_TOP = np.array([score == "argmax_accuracy" for _, _, score in KEYS])
DIFFERENCES = ("selectivity", "skip")


@dataclass(frozen=True, eq=False)
class Counts:
    """The sums that a score in KEYS is made of, by map: Σ ``plus`` / Σ ``n`` − Σ ``minus`` / Σ
    ``m``.
    """

    plus: Float[np.ndarray, "*question score head"]
    n: Float[np.ndarray, "*question score"]
    minus: Float[np.ndarray, "*question score head"]
    m: Float[np.ndarray, "*question score"]


def count_question(maps: Maps, marks: Marks) -> Counts:
    """The sums of one question; keys that share the largest weight share the argmax."""
    top = (maps == maps.max(-1, keepdims=True)).astype(float)
    top /= top.sum(-1, keepdims=True)
    found = [_related(*key, marks) for key in KEYS]
    sums = []
    for pairs in zip(*found, strict=True):
        weights = np.reshape([each for each, _ in pairs], (len(KEYS), -1))
        soft, hard = (weights @ each.reshape(len(each), -1).T for each in (maps, top))
        sums += [np.where(IS_TOP[:, None], hard, soft), np.array([n for _, n in pairs], float)]
    return Counts(*sums)


def _related(way: str, gold: str, score: str, marks: Marks) -> tuple[Pairs, Pairs]:
    """The pairs of a query and a key that a score adds up, and those that it subtracts."""
    nothing = np.zeros((len(marks), len(marks))), 0
    above, below = marks.contrast[gold], marks.target[gold] >= 0
    if score == "selectivity":
        return _with_operator(way, below, marks), _with_operator(way, above, marks)
    if score in SKIPPING:
        around, between = (_each(way, flags, marks) for flags in (marks.around, marks.intervening))
        first = between if score == "intervening" else around
        return first, between if score == "skip" else nothing
    pairs = np.zeros_like(nothing[0])
    pairs[np.flatnonzero(below), marks.target[gold][below]] = 1
    pairs = pairs if way == "rows" else pairs.T
    return (pairs, int(pairs.any(1).sum())), nothing


def _with_operator(way: str, digits: Flags, marks: Marks) -> Pairs:
    """The pairs of a digit and any operator, for weight summed over the queries."""
    queries, keys = (digits, marks.operator) if way == "rows" else (marks.operator, digits)
    return np.outer(queries, keys).astype(float), int(queries.sum())


def _each(way: str, digits: Flags, marks: Marks) -> Pairs:
    """The pairs of a digit and any operator, for weight averaged over digits."""
    pairs, _ = _with_operator(way, digits, marks)
    return pairs, int(digits.sum())
