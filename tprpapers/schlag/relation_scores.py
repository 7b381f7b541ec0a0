"""Heads as second-argument-of '/', read in both ways: mass, argmax, selectivity, and numerators that are skipped."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprpapers.schlag.attention_mass import (
    INTEGERS,
    Counts,
    Maps,
    Marks,
    compare_maps,
    count_maps,
    count_mass,
    list_heads,
    make_baselines,
)
from tprpapers.schlag.relations import DIVISION, Flags, Relation
from tprprobe.analyses.attention.gold_maps import find_maps
from tprprobe.store import Store

Pairs = tuple[Float[np.ndarray, "query key"], int]  # weights of the pairs added up, over how many

GOLD = ("literal", "net")
WAYS = ("rows", "columns")
SCORES = ("mass", "argmax_accuracy", "selectivity")
SKIPPING = ("around", "intervening", "skip")
KEYS = [
    *((way, gold, score) for way in WAYS for gold in GOLD for score in SCORES),
    *((way, "net", score) for way in WAYS for score in SKIPPING),
]
IS_TOP = np.array([score == "argmax_accuracy" for _, _, score in KEYS])
DIFFERENCES = ("selectivity", "skip")


def score_relations(store: Store, seed: int = 0, relation: Relation = DIVISION) -> pd.DataFrame:
    """Scores of every encoder head as second-argument-of '/', one row per head, way, gold and score.

    Of another relation read its operator for '/', and its digits for denominators.

    head         its number; missing for the baselines, whose ``source`` is uniform · offset (the
                 one fixed distance that scores best here, ``offset``) · nearest (the digit's
                 nearest '/' on its left; of a '/', the digits of the next number) · shuffled (of
                 each question another head of any layer, drawn anew: what "some head" scores)
    way          rows: from a digit to '/' (primary) · columns: from '/' to the digits
    gold         literal (the digit's number is the second argument of that '/') · net (it is in
                 the denominator after all flips; its '/' is the innermost that has it on its right)
    score        mass (attention on the gold target) · argmax_accuracy · selectivity (attention
                 between '/' and denominators minus that between '/' and numerators, a query) ·
                 around, intervening, skip (attention between '/' and the digits of denominators
                 around a numerator of the same term, of that numerator, and the difference, a digit)
    low, high    95 % interval over questions; of shuffled, of the null
    untrained    the randomly initialized twin; no such rows where the store has no control
    Of the questions whose maps are kept, those that have a division; a score for which there is no
    query has no rows. ``n`` counts queries (or digits), ``n_questions`` the questions with one.
    Source: schlag Fig 3, whose versions disagree on the way.

    Raises:
        InputError: no attention maps, no arithmetic, or no division in what is kept.
    """
    tables = [
        _score(source, seed, relation).assign(untrained=untrained)
        for untrained, source in ((False, store), (True, store.control))
        if source is not None
    ]
    return pd.concat(tables, ignore_index=True)


def most_relating_head(store: Store, site: str, relation: Relation = DIVISION) -> int:
    """The head of a site with the largest mass of :func:`score_heads`."""
    find_maps(store)  # tells where there are none
    counts = count_maps(store, store.select(site), count_mass, relation)
    return int(counts.plus.sum(0).argmax())


def _score(store: Store, seed: int, relation: Relation) -> pd.DataFrame:
    sites = find_maps(store)
    heads = list_heads(store, sites)
    counts = count_maps(store, sites, count_question, relation, make_baselines)
    rows = [
        dict(zip(("way", "gold", "score"), key, strict=True)) | row
        for index, key in enumerate(KEYS)
        for row in compare_maps(
            Counts(*(values[:, index] for values in vars(counts).values())),
            heads,
            seed,
            key[-1] in DIFFERENCES,
        )
    ]
    return pd.DataFrame(rows).astype(INTEGERS)


def count_question(maps: Maps, marks: Marks) -> Counts:
    """The sums of one question; keys that share the largest weight share the argmax."""
    top = (maps == maps.max(-1, keepdims=True)).astype(float)
    top /= top.sum(-1, keepdims=True)
    pairs_by_key = [_related(*key, marks) for key in KEYS]
    sums = []
    for pairs in zip(*pairs_by_key, strict=True):
        weights = np.reshape([flags for flags, _ in pairs], (len(KEYS), -1))
        soft, hard = (weights @ scores.reshape(len(scores), -1).T for scores in (maps, top))
        sums += [np.where(IS_TOP[:, None], hard, soft), np.array([n for _, n in pairs], float)]
    return Counts(*sums)


def _related(way: str, gold: str, score: str, marks: Marks) -> tuple[Pairs, Pairs]:
    """The pairs of a query and a key that a score adds up, and those that it subtracts."""
    nothing = np.zeros((len(marks), len(marks))), 0
    above, below = marks.contrast[gold], marks.target[gold] >= 0
    if score == "selectivity":
        return _with_operator(way, below, marks), _with_operator(way, above, marks)
    if score in SKIPPING:
        around, between = (  # averaged over digits: pairs of each and any operator
            (_with_operator(way, digits, marks)[0], int(digits.sum()))
            for digits in find_skipped(marks)
        )
        added = between if score == "intervening" else around
        return added, between if score == "skip" else nothing
    pairs = np.zeros_like(nothing[0])
    pairs[np.flatnonzero(below), marks.target[gold][below]] = 1
    pairs = pairs if way == "rows" else pairs.T
    return (pairs, int(pairs.any(1).sum())), nothing


def _with_operator(way: str, digits: Flags, marks: Marks) -> Pairs:
    """The pairs of a digit and any operator, for weight summed over the queries."""
    queries, keys = (digits, marks.operator) if way == "rows" else (marks.operator, digits)
    return np.outer(queries, keys).astype(float), int(queries.sum())


def find_skipped(marks: Marks) -> tuple[Flags, Flags]:
    """The related digits that have others of their multiplicative term between them, and those others."""
    term, related = marks.term, (marks.number >= 0) & ~marks.contrast["net"]
    around, intervening = np.zeros_like(related), np.zeros_like(related)
    for term_id in range(term.max(initial=-1) + 1):
        below = np.flatnonzero((term == term_id) & related)
        if len(below):
            between = (term == term_id) & ~related
            between[: below[0]] = between[below[-1] :] = False
            intervening |= between
            around[below] |= between.any()
    return around, intervening
