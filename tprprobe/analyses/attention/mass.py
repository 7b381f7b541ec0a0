"""Attention mass of a head on a gold relation, beside baselines that need no head."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.analyses.attention.counts import DIFFERENCES, KEYS, Counts, Maps, count_question
from tprprobe.analyses.attention.gold_maps import Marks, find_maps, mark_questions
from tprprobe.analyses.attention.reference_maps import OFFSETS, make_baselines
from tprprobe.analyses.attention.relations import DIVISION, Relation
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import REPLICATES, bounds, divide, replicate_totals
from tprprobe.store import Store

PRIMARY = ("rows", "net", "mass")  # from a digit to its operator, after all flips


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
    parts = [
        _score(each, seed, relation).assign(untrained=untrained)
        for untrained, each in ((False, store), (True, store.control))
        if each is not None
    ]
    return pd.concat(parts, ignore_index=True)


def score_heads(store: Store, seed: int = 0, relation: Relation = DIVISION) -> pd.DataFrame:
    """The rows of :func:`score_relations` of the trained model's weight on the relation (rows, net, mass).

    Raises:
        InputError: as of :func:`score_relations`.
    """
    return _score(store, seed, relation, [PRIMARY])


def most_relating_head(store: Store, site: str, relation: Relation = DIVISION) -> int:
    """The head of a site with the largest mass of :func:`score_relations`: rows, net.

    Raises:
        InputError: as of :func:`score_relations`.
    """
    find_maps(store)  # tells where there are none
    counts = _count(store, store.select(site), relation)
    return int(counts[0][:, KEYS.index(PRIMARY)].sum(0).argmax())


def _score(
    store: Store, seed: int, relation: Relation, keys: Sequence[tuple[str, str, str]] = KEYS
) -> pd.DataFrame:
    sites = find_maps(store)
    heads = [
        {"layer": layer_of(site), "head": head, "source": "head"}
        for site in sites
        for head in range(store.specs[site].shape[0])
    ]
    counts = _count(store, sites, relation, make_baselines)
    rows = [
        dict(zip(("way", "gold", "score"), key, strict=True)) | row
        for index, key in enumerate(KEYS)
        if key in keys
        for row in _compare(Counts(*(each[:, index] for each in counts)), heads, key, seed)
    ]
    return pd.DataFrame(rows).astype({"layer": "Int64", "head": "Int64", "offset": "Int64"})


def _count(
    store: Store, sites: list[str], relation: Relation, *others: Callable[[Marks], Maps]
) -> list[np.ndarray]:
    """The fields of Counts, question by question: of all heads, then of other maps."""
    found = []
    for marks in mark_questions(store, store.count_maps(sites[0]), relation):
        heads = [store.attention(site, marks.sample) for site in sites]
        found.append(
            count_question(np.concatenate([*heads, *(each(marks) for each in others)]), marks)
        )
    if not found:
        raise InputError(
            f"no question with a {relation.name} among those whose maps {store.path} keeps"
        )
    return [np.stack(each) for each in zip(*map(astuple, found), strict=True)]


def _compare(
    counts: Counts, heads: list[dict[str, Any]], key: tuple[str, str, str], seed: int
) -> Iterator[dict[str, Any]]:
    """The rows of one score: heads, baselines, and the null of shuffled heads."""
    seen = (counts.n + counts.m) > 0
    if not seen.any():
        return
    plus, minus = counts.plus[seen], counts.minus[seen]
    sizes = np.stack([counts.n[seen], counts.m[seen]], 1)
    size = {"n": int(sizes.sum()), "n_questions": len(sizes)}
    is_difference = key[-1] in DIFFERENCES
    sums = np.concatenate([plus, minus, sizes], 1)
    values = _evaluate(sums.sum(0), is_difference)
    low, high = bounds(_evaluate(replicate_totals(sums, seed=seed), is_difference), len(sizes))
    fixed = [{"source": "uniform"}, {"source": "nearest"}]
    best = int(np.nan_to_num(values[-len(OFFSETS) :], nan=-np.inf).argmax())
    fixed += [{"source": "offset", "offset": OFFSETS[best]}]
    places = [*range(len(heads) + 2), len(heads) + 2 + best]
    for place, what in zip(places, [*heads, *fixed], strict=True):
        yield what | {"value": values[place], "low": low[place], "high": high[place]} | size
    null = _shuffle(plus[:, : len(heads)], minus[:, : len(heads)], sizes, is_difference, seed)
    low, middle, high = np.quantile(null, [0.025, 0.5, 0.975])
    yield {"source": "shuffled", "value": middle, "low": low, "high": high} | size


def _evaluate(
    totals: Float[np.ndarray, "*replicate term"], is_difference: bool
) -> Float[np.ndarray, "*replicate head"]:
    """Σ plus / Σ n, for a difference minus Σ minus / Σ m."""
    parts = np.split(totals[..., :-2], 2, axis=-1)
    sizes = (np.broadcast_to(totals[..., [i]], parts[0].shape) for i in (-2, -1))
    plus, minus = (divide(*each) for each in zip(parts, sizes, strict=True))
    return plus - minus if is_difference else plus


def _shuffle(
    plus: Float[np.ndarray, "question head"],
    minus: Float[np.ndarray, "question head"],
    sizes: Float[np.ndarray, "question 2"],
    is_difference: bool,
    seed: int,
) -> Float[np.ndarray, " replicate"]:
    """The score where each question's maps are those of a head drawn at random."""
    drawn = np.random.default_rng(seed).integers(plus.shape[1], size=(REPLICATES, len(plus)))
    questions = np.arange(len(plus))
    sums = [each[questions, drawn].sum(1) for each in (plus, minus)]
    totals = np.column_stack([*sums, np.broadcast_to(sizes.sum(0), (REPLICATES, 2))])
    return _evaluate(totals, is_difference)[:, 0]
