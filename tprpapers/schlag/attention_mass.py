"""Attention mass of a head on a gold relation, question by question, beside baselines that need no head."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprpapers.schlag.relations import DIVISION, Flags, Relation
from tprprobe.analyses.attention.gold_maps import annotated_tokens, find_maps
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import REPLICATES, bounds, divide, replicate_totals
from tprprobe.store import Store

Maps = Float[np.ndarray, "head query key"]

LONGEST = 32  # tokens of an offset
OFFSETS = [offset for offset in range(-LONGEST, LONGEST + 1) if offset]
INTEGERS = dict.fromkeys(("layer", "head", "offset"), "Int64")


@dataclass(frozen=True, eq=False)
class Marks:
    """One question, token by token.

    ``operator`` are the tokens that the relation is to. ``target`` has, for the related digits, the index
    of theirs, else −1: literally (for '/' the immediate parent), and net (denominators after all flips).
    ``contrast`` are the digits that are not related, by the same two.
    """

    sample: int
    question: str
    relation: Relation
    operator: Flags
    number: Int[np.ndarray, " token"]  # the number of a digit, −1 elsewhere
    term: Int[np.ndarray, " token"]  # its multiplicative term, −1 elsewhere
    target: dict[str, Int[np.ndarray, " token"]]
    contrast: dict[str, Flags]

    def __len__(self) -> int:
        return len(self.operator)


def mark_questions(store: Store, samples: int, relation: Relation = DIVISION) -> Iterator[Marks]:
    """Which tokens are the relation's, for every question among the first samples that has its operator."""
    tokens = annotated_tokens(store, range(samples))
    digit = (tokens["kind"] == "digit").to_numpy()
    integers = tokens[["number", "term"]].fillna(-1).astype(int).to_numpy()
    number, term = np.where(digit[:, None], integers, -1).T
    related = {name: gold.related(tokens) for name, gold in relation.golds.items()}
    target = {name: gold.targets(tokens) for name, gold in relation.golds.items()}
    operator = relation.operators(tokens)
    ids, starts = np.unique(tokens["sample"], return_index=True)
    for sample, start, stop in zip(ids, starts, [*starts[1:], len(tokens)], strict=True):
        rows = slice(start, stop)
        if operator[rows].any():
            yield Marks(
                sample=int(sample),
                question=str(tokens["question"].iloc[start]),
                relation=relation,
                operator=operator[rows],
                number=number[rows],
                term=term[rows],
                target={name: targets[rows] for name, targets in target.items()},
                contrast={
                    name: (digit & ~is_related)[rows] for name, is_related in related.items()
                },
            )


@dataclass(frozen=True, eq=False)
class Counts:
    """The sums over a question's maps that a score is made of: Σ ``plus`` / Σ ``n`` − Σ ``minus`` / Σ ``m``."""

    plus: Float[np.ndarray, "*question head"]
    n: Float[np.ndarray, "*question"]
    minus: Float[np.ndarray, "*question head"]
    m: Float[np.ndarray, "*question"]


def score_heads(store: Store, seed: int = 0, relation: Relation = DIVISION) -> pd.DataFrame:
    """The attention of every encoder head from a digit to its operator, after all flips: one row a head and baseline.

    layer, head  its numbers; missing for the baselines, whose ``source`` is uniform · offset (the one fixed
                 distance that scores best here, ``offset``) · nearest (the digit's nearest '/' on its left) ·
                 shuffled (of each question another head of any layer, drawn anew: what "some head" scores)
    value        the mass on the target; low, high: its 95 % interval over questions, of shuffled of the null
    n            digits; ``n_questions`` the questions with one, among those whose maps are kept
    """
    sites = find_maps(store)
    counts = count_maps(store, sites, count_mass, relation, make_baselines)
    return pd.DataFrame(compare_maps(counts, list_heads(store, sites), seed)).astype(INTEGERS)


def count_mass(maps: Maps, marks: Marks) -> Counts:
    """The mass of one question's related digits on their operators."""
    target = marks.target["net"]
    digits = np.flatnonzero(target >= 0)
    plus, n = maps[:, digits, target[digits]].sum(1).astype(float), np.array(float(len(digits)))
    return Counts(plus, n, np.zeros_like(plus), np.array(0.0))


def list_heads(store: Store, sites: list[str]) -> list[dict[str, Any]]:
    """The columns that identify every head of these sites."""
    return [
        {"layer": layer_of(site), "head": head, "source": "head"}
        for site in sites
        for head in range(store.specs[site].shape[0])
    ]


def count_maps(
    store: Store,
    sites: list[str],
    count: Callable[[Maps, Marks], Counts],
    relation: Relation,
    *make_others: Callable[[Marks], Maps],
) -> Counts:
    """The counts of every question whose maps are kept, of all heads, then of other maps."""
    counts = []
    for marks in mark_questions(store, store.count_maps(sites[0]), relation):
        heads = [store.attention(site, marks.sample) for site in sites]
        counts.append(
            count(np.concatenate([*heads, *(make_map(marks) for make_map in make_others)]), marks)
        )
    if not counts:
        raise InputError(
            f"no question with a {relation.name} among those whose maps {store.path} keeps"
        )
    return Counts(*(np.stack(column) for column in zip(*map(astuple, counts), strict=True)))


def make_baselines(marks: Marks) -> Maps:
    """The maps of one question without a model: uniform, nearest, and one an offset in OFFSETS.

    nearest is the relation's guess (of '/': to the nearest one on the left). A query whose key does not exist attends uniformly.
    """
    size = len(marks)
    maps = np.zeros((2 + len(OFFSETS), size, size))
    maps[1] = marks.relation.guess(marks.operator, marks.number)
    for row, offset in enumerate(OFFSETS, start=2):
        maps[row] = np.eye(size, k=offset)
    maps[maps.sum(-1) == 0] = 1.0
    return maps / maps.sum(-1, keepdims=True)


def compare_maps(
    counts: Counts, heads: list[dict[str, Any]], seed: int, is_difference: bool = False
) -> Iterator[dict[str, Any]]:
    """The rows of one score: heads, baselines, and the null of shuffled heads."""
    has_queries = (counts.n + counts.m) > 0
    if not has_queries.any():
        return
    plus, minus = counts.plus[has_queries], counts.minus[has_queries]
    sizes = np.stack([counts.n[has_queries], counts.m[has_queries]], 1)
    size = {"n": int(sizes.sum()), "n_questions": len(sizes)}
    sums = np.concatenate([plus, minus, sizes], 1)
    values = _evaluate(sums.sum(0), is_difference)
    replicates = _evaluate(replicate_totals(sums, seed=seed), is_difference)
    low, high = bounds(replicates, len(sizes), lowest=-1 if is_difference else 0)
    fixed = [{"source": "uniform"}, {"source": "nearest"}]
    best = int(np.nan_to_num(values[-len(OFFSETS) :], nan=-np.inf).argmax())
    fixed += [{"source": "offset", "offset": OFFSETS[best]}]
    places = [*range(len(heads) + 2), len(heads) + 2 + best]
    for place, identity in zip(places, [*heads, *fixed], strict=True):
        yield identity | {"value": values[place], "low": low[place], "high": high[place]} | size
    null = _shuffle(plus[:, : len(heads)], minus[:, : len(heads)], sizes, is_difference, seed)
    low, middle, high = np.quantile(null, [0.025, 0.5, 0.975])
    yield {"source": "shuffled", "value": middle, "low": low, "high": high} | size


def _evaluate(
    totals: Float[np.ndarray, "*replicate term"], is_difference: bool
) -> Float[np.ndarray, "*replicate head"]:
    """Σ plus / Σ n, for a difference minus Σ minus / Σ m."""
    sums = np.split(totals[..., :-2], 2, axis=-1)
    sizes = (np.broadcast_to(totals[..., [i]], sums[0].shape) for i in (-2, -1))
    plus, minus = (divide(*terms) for terms in zip(sums, sizes, strict=True))
    return plus - minus if is_difference else plus


def _shuffle(
    plus: Float[np.ndarray, "question head"],
    minus: Float[np.ndarray, "question head"],
    sizes: Float[np.ndarray, "question 2"],
    is_difference: bool,
    seed: int,
) -> Float[np.ndarray, " replicate"]:
    """The score where each question's maps are those of a head drawn at random."""
    head_ids = np.random.default_rng(seed).integers(plus.shape[1], size=(REPLICATES, len(plus)))
    questions = np.arange(len(plus))
    sums = [values[questions, head_ids].sum(1) for values in (plus, minus)]
    totals = np.column_stack([*sums, np.broadcast_to(sizes.sum(0), (REPLICATES, 2))])
    return _evaluate(totals, is_difference)[:, 0]
