"""Attention of one sample: a head's map with gold relations, all heads, and which head follows a relation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.analyses.attention import score_heads
from tprprobe.analyses.attention.gold_maps import find_maps, gold_tokens
from tprprobe.analyses.attention.head_relations import (
    TASK,
    follow_relations,
    list_relations,
    score_relation,
)
from tprprobe.analyses.attention.relations import DIVISION, Relation
from tprprobe.dashboard.holdings import list_holdings
from tprprobe.dashboard.plots import plot_grid
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures import attention_grid, attention_matrix
from tprprobe.figures.dots import interval_dots
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

SHARP = 16  # samples of which the sharpest head is sought


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
    """The attention maps of one sample, with its tokens and their rows in the store.

    Raises:
        InputError: no such site, no maps of that sample, or no tokens in it.
    """
    weights = store.attention(site, sample)
    sides = store.specs[store.select(site)[0]].rows.split("_")
    queries, keys = (_tokens(store, sample, side) for side in sides)
    if not weights.size:
        raise InputError(f"sample {sample} has no tokens to attend to: choose another")
    weights = np.nan_to_num(weights.astype(np.float32))
    return Maps(store.select(site)[0], sample, weights, queries, keys)


def _tokens(store: Store, sample: int, side: str) -> pd.DataFrame:
    tokens = store.tokens
    of_side = tokens.loc[tokens["side"] == side, "sample"].to_numpy()
    rows = slice(*np.searchsorted(of_side, [sample, sample + 1]))
    chosen = tokens.loc[(tokens["side"] == side) & (tokens["sample"] == sample)]
    return chosen.reset_index(drop=True).assign(row=np.arange(rows.start, rows.stop))


def gold_pairs(
    store: Store, maps: Maps, relation: Relation = DIVISION
) -> tuple[list[tuple[int, int]], str]:
    """Related tokens as positions (query, key), and what relates them: digits and their operator, or the first tokens
    of words and of the words that they depend on. Nothing for samples without such a relation.
    """
    if not maps.is_self:
        return [], ""
    if TASK in maps.queries and WORD in maps.queries:
        words = maps.queries[maps.queries[WORD] >= 0].drop_duplicates(WORD)
        at = dict(zip(words[WORD].tolist(), words.index.tolist(), strict=True))
        found = [
            (at[a], at[span2[0]])
            for a, cell in zip(words[WORD].tolist(), words[TASK].astype(str), strict=True)
            for _, span1, span2 in decode_cell(cell, a)
            if span2 and span1 != span2 and span2[0] in at
        ]
        return found, "a word and the word that it depends on"
    gold = gold_tokens(store, [maps.sample]) if list_holdings(store).arithmetic else None
    if gold is None:
        return [], ""
    targets = relation.net.targets(gold)
    related = np.flatnonzero(targets >= 0)
    told = f"a {relation.related}'s digit and its ‘{relation.operator}’"
    return list(zip(related.tolist(), targets[related].tolist(), strict=True)), told


def show_matrix(store: Store, maps: Maps, head: int) -> View:
    """The whole map of a head; the browser draws it, with lines between tokens (``browser_payload.pack_map_of_head``).

    Raises:
        InputError: no such head.
    """
    if not 0 <= head < len(maps.weights):
        raise InputError(f"{maps.site} has no head {head}: it has 0 to {len(maps.weights) - 1}")
    pairs, told = gold_pairs(store, maps)
    query, key = (part.ravel() for part in np.indices(maps.weights[head].shape))
    table = pd.DataFrame({"query": query, "key": key, "weight": maps.weights[head].ravel()})
    draw = partial(attention_matrix, store, maps.site, maps.sample, head)
    title = f"{maps.site}, head {head}, sample {maps.sample}"
    return View(title, draw, table, f"○ gold: {told}" if pairs else "")


def show_grid(store: Store, sites: Sequence[str], sample: int) -> View:
    """All heads (columns) of some sites (rows) on one sample, each map small."""
    tables = [
        show_matrix(store, maps, head).data.assign(site=site, head=head)
        for site in sites
        for maps in [read_maps(store, site, sample)]
        for head in range(len(maps.weights))
    ]
    draw = partial(attention_grid, store, list(sites), sample)
    return View(f"All heads, sample {sample}", draw, pd.concat(tables, ignore_index=True))


def score_attention(
    store: Store, followed: pd.DataFrame | None, relation: str = ""
) -> pd.DataFrame:
    """Every head's share of what it should look at: source, site, layer, head, n, value with its interval, ``follows``.

    Of labelled words (``followed``: as of :func:`follow_relations`) the word that a word depends on, of one relation or
    of all; of arithmetic the '/' that divides by a denominator. Without either, its mean largest weight.
    """
    if followed is not None:
        told = (
            f"words look most at the word that they depend on ({relation})"
            if relation
            else "words look most at the word that they depend on"
        )
        return score_relation(followed, relation).assign(follows=told)
    if list_holdings(store).arithmetic:
        try:
            scores = score_heads(store)
        except InputError:
            return score_sharpness(store)
        site_of = {layer_of(each): each for each in find_maps(store)}
        told = "the weight of a denominator’s digits lies on the ‘/’ that divides by them"
        return scores.assign(site=scores["layer"].map(site_of), follows=told)
    return score_sharpness(store)


def follow(store: Store) -> pd.DataFrame | None:
    """What :func:`follow_relations` gives; None of a store without relations between words."""
    try:
        return follow_relations(store)
    except InputError:
        return None


def list_followed(followed: pd.DataFrame | None) -> list[str]:
    """The relations of which heads are scored, the commonest first."""
    return [] if followed is None else list_relations(followed)


def score_sharpness(store: Store) -> pd.DataFrame:
    """The mean largest weight of every head's queries, over the first samples."""
    rows = []
    for site in (name for name in store.specs if store.count_maps(name)):
        n = min(SHARP, store.count_maps(site))
        largest = np.mean([store.attention(site, each).max(-1).mean(-1) for each in range(n)], 0)
        rows += [
            {
                "source": "head",
                "site": site,
                "layer": layer_of(site),
                "head": head,
                "n": n,
                "value": float(value),
            }
            for head, value in enumerate(largest)
        ]
    return pd.DataFrame(rows)


def show_heads(scores: pd.DataFrame, title: str, dark: bool = False) -> View:
    """A square a head: a row per site, a column per head."""
    heads = scores[scores["source"] == "head"]
    wide = heads.pivot_table(index="site", columns="head", values="value", sort=False)
    values = wide.to_numpy(float)
    texts = np.array(
        [[f"{100 * each:.0f}" if each == each else "" for each in row] for row in values]
    )
    rows = [str(each).removesuffix(".attention") for each in wide.index]
    chart = plot_grid(
        values, rows, [str(each) for each in wide.columns], dark, texts, None, ("", "head")
    )
    names = heads["site"].str.removesuffix(".attention") + ", head " + heads["head"].astype(str)
    dots = heads.assign(
        name=names,
        group="head",
        low=heads.get("value_low", heads["value"]),
        high=heads.get("value_high", heads["value"]),
    )
    draw = partial(interval_dots, dots.nlargest(24, "value"), title, "share")
    return View(title, draw, scores, "percent", chart)
