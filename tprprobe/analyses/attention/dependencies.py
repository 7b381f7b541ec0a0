"""How often every attention head looks from a word at the word that a labelled relation relates it to."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprprobe.errors import InputError
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store
from tprprobe.store.groups import group_tokens

TASK = "dep"
FEWEST = 20  # words of a relation that is scored by itself
OFFSET = "offset:"  # how columns of fixed offsets begin
OFFSETS = [each for each in range(-6, 7) if each]


def follow_relations(store: Store, sites: list[str]) -> pd.DataFrame:
    """One row per word with a head word: sample, group, relation, at, of (numbers of the two words), and for every
    map ``site:head`` whether the most attended other word is that one; the same of every fixed ``offset:n``.

    Source: Clark et al. 2019, from dependents to heads.

    Raises:
        InputError: the store has no relations between words, or no maps of labelled samples.
    """
    if TASK not in store.tokens or WORD not in store.tokens:
        raise InputError(f"{store.path} has no relations between words ({TASK})")
    kept = min(store.count_maps(site) for site in sites)
    tokens = store.tokens_of(sites[0])
    tokens = tokens[tokens["sample"] < kept].reset_index(drop=True)
    tokens = tokens.assign(group=group_tokens(tokens))
    parts = [
        _score(store, sites, int(str(sample)), part) for sample, part in tokens.groupby("sample")
    ]
    parts = [each for each in parts if len(each)]
    if not parts:
        raise InputError(f"no sample of {store.path} with attention maps has words in relations")
    return pd.concat(parts, ignore_index=True)


def _score(store: Store, sites: list[str], sample: int, tokens: pd.DataFrame) -> pd.DataFrame:
    edges = list(_edges(tokens))
    if not edges:
        return pd.DataFrame()
    of_word, group = tokens[WORD].to_numpy(), int(tokens["group"].iloc[0])
    at, of = np.array([each[1:] for each in edges]).T
    relations = [each[0] for each in edges]
    rows: dict[str, Any] = {
        "sample": sample,
        "group": group,
        "relation": relations,
        "at": at,
        "of": of,
    }
    rows |= {f"{OFFSET}{each}": at + each == of for each in OFFSETS}
    for site in sites:
        for head, weights in enumerate(join_words(store.attention(site, sample), of_word)):
            np.fill_diagonal(weights, -1)
            rows[f"{site}:{head}"] = weights[at].argmax(1) == of
    return pd.DataFrame(rows)


def _edges(tokens: pd.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Relation, dependent and head of every word that has one, both of them in tokens."""
    words = tokens[tokens[WORD] >= 0].drop_duplicates(WORD)
    known = {*words[WORD].tolist()}
    for word, cell in zip(words[WORD].tolist(), words[TASK].astype(str), strict=True):
        for label, span1, span2 in decode_cell(cell, word):
            if span2 and span2 != span1 and {span1[0], span2[0]} <= known:
                yield label, span1[0], span2[0]


def join_words(
    weights: Float[np.ndarray, "head query key"], words: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "head word word"]:
    """Maps of words: the sum over a word's keys, the mean over its queries; tokens of no word are left out."""
    member = (words[None] == np.arange(words.max(initial=-1) + 1)[:, None]).astype(np.float32)
    counts = np.maximum(member.sum(1, keepdims=True), 1)
    return np.einsum(
        "wq,hqk,vk->hwv", member / counts, np.nan_to_num(weights), member, optimize=True
    )


def list_relations(followed: pd.DataFrame) -> list[str]:
    """The relations with enough words, the commonest first."""
    counts = followed["relation"].value_counts()
    return [str(each) for each in counts.index[counts >= FEWEST]]


def score_relation(followed: pd.DataFrame, relation: str = "") -> pd.DataFrame:
    """Every head's share of words from which it looks most at the related one: source, site, layer, head, value with its
    95 % interval over groups, n; last the fixed offset that does best. Of one relation, or of all.
    """
    part = followed[followed["relation"] == relation] if relation else followed
    names = [each for each in map(str, followed) if ":" in each]
    offsets = [each for each in names if each.startswith(OFFSET)]
    best = max(offsets, key=lambda each: part[each].mean())
    rows = []
    for name in [*(each for each in names if each not in offsets), best]:
        site, _, head = name.rpartition(":")
        found = bootstrap_mean(part[name].to_numpy(float), part["group"].to_numpy())
        of = {"source": "head", "site": site, "head": int(head), "layer": layer_of(site)}
        if name == best:
            of = {"source": f"offset {int(head):+d}", "site": "offset", "head": -1, "layer": -1}
        rows.append(of | {"n": len(part)} | found.columns("value"))
    return pd.DataFrame(rows)
