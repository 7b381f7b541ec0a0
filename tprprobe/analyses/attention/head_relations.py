"""How often every attention head looks from a word at the word that a labelled relation relates it to."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprprobe.analyses.naming.fields import label_words
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import halve_documents, leave_out, read_provenance
from tprprobe.gold.labels import LAST_WORD, WORD, decode_cell
from tprprobe.site.patterns import is_causal, layer_of, sides_of
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store

TASK = "dep"
ROLE = "role"  # labels of words that a sentence has once each, such as agent and patient
SHARP = 16  # samples of which the sharpest head is sought
FEWEST, COMMONEST = 20, 12  # words of a relation that is scored by itself; relations of a table
OFFSET = "offset:"  # names a column of a fixed distance
OFFSETS = [offset for offset in range(-6, 7) if offset]


NEARBY = ("previous word", "previous token")  # relations that are a fixed distance, −1


def follow_relations(store: Store, backward: bool = False, nearby: bool = False) -> pd.DataFrame:
    """One row per word with a head word: sample, document, sequence (a hash of the text), relation, at, of (numbers of the two words), and for every
    map ``site:head`` whether the most attended other word is that one; the same of every fixed ``offset:n``.

    From dependents to heads; ``backward`` from heads to dependents; ``nearby``: also NEARBY, the first from words to words, the second
    from pieces of words to pieces. Source: Clark et al. 2019.
    """
    if TASK not in store.tokens or WORD not in store.tokens:
        raise InputError(
            f"{store.path} has no relations between words ({TASK}): extract a treebank, or with --labels dep=spacy:FOLDER"
        )
    sites = list_self_maps(store)
    if not sites:
        raise InputError(f"{store.path} has no attention maps: extract with --sites '*.attention'")
    samples = list_samples(store, sites)
    tables = [
        table
        for sample, tokens in samples
        for table in _score(store, sites, sample, tokens, backward, nearby)
    ]
    if not tables:
        raise InputError(f"no sample of {store.path} with attention maps has words in relations")
    return pd.concat(tables, ignore_index=True)


def list_maps(store: Store) -> list[str]:
    """The sites with attention maps, of at least one sample."""
    return [name for name in store.specs if store.count_maps(name)]


def list_self_maps(store: Store) -> list[str]:
    """The sites of maps from tokens to tokens of the same side."""
    return [name for name in list_maps(store) if len({*sides_of(name)}) == 1]


def list_samples(store: Store, sites: list[str]) -> Iterator[tuple[int, pd.DataFrame]]:
    """The samples that have maps of all sites, with their tokens, which have their document and sequence as numbers, and the
    label of their word instead of a cell of ROLE.
    """
    n_samples = min(store.count_maps(site) for site in sites)
    tokens = store.tokens_of(sites[0])
    tokens = tokens[tokens["sample"] < n_samples].reset_index(drop=True)
    origin = read_provenance(tokens)
    tokens = tokens.assign(origin=origin.documents, sequence=origin.sequences[:, 0])
    if ROLE in tokens and WORD in tokens:
        tokens[ROLE] = label_words(tokens, ROLE)
    for sample, rows in tokens.groupby("sample"):
        yield int(str(sample)), rows.reset_index(drop=True)


def _score(
    store: Store, sites: list[str], sample: int, tokens: pd.DataFrame, backward: bool, nearby: bool
) -> Iterator[pd.DataFrame]:
    words, maps = tokens[WORD].to_numpy(), {site: store.attention(site, sample) for site in sites}
    piece_numbers, token = np.where(words >= 0, np.cumsum(words >= 0) - 1, -1), tokens.iloc[0]
    groups = [(words, list(find_edges(tokens)))]
    for relation, units in zip(NEARBY, (words, piece_numbers), strict=True) if nearby else ():
        numbers = np.unique(units[units >= 0]).tolist()
        groups.append((units, [(relation, unit, before) for before, unit in pairwise(numbers)]))
    rows = {"sample": sample, "document": token["origin"], "sequence": token["sequence"]}
    for units, edges in groups:
        if edges:
            yield pd.DataFrame(rows | _follow(maps, units, edges, backward))


def _follow(
    maps: dict[str, Float[np.ndarray, "head query key"]],
    units: Int[np.ndarray, " token"],
    edges: list[tuple[str, int, int]],
    backward: bool,
) -> dict[str, Any]:
    place, related = np.array([edge[1:] for edge in edges]).T[:: -1 if backward else 1]
    rows: dict[str, Any] = {"relation": [edge[0] for edge in edges], "at": place, "of": related}
    rows |= {f"{OFFSET}{offset}": place + offset == related for offset in OFFSETS}
    for site, site_maps in maps.items():
        for head, weights in enumerate(join_words(site_maps, units)):
            np.fill_diagonal(weights, -1)
            rows[f"{site}:{head}"] = weights[place].argmax(1) == related
    return rows


def join_words(
    weights: Float[np.ndarray, "head query key"], words: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "head word word"]:
    """Maps of words: the sum over a word's keys, the mean over its queries; tokens of no word are left out."""
    member = (words[None] == np.arange(words.max(initial=-1) + 1)[:, None]).astype(np.float32)
    counts = np.maximum(member.sum(1, keepdims=True), 1)
    return np.einsum(
        "wq,hqk,vk->hwv", member / counts, np.nan_to_num(weights), member, optimize=True
    )


def find_edges(tokens: pd.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Relation, dependent and head of every word that has one, in tokens of their own.

    Words that share tokens go by the number of the first of them.
    """
    words = tokens[tokens[WORD] >= 0].drop_duplicates(WORD, keep="last")
    numbers = words[WORD].tolist()
    lasts = words[LAST_WORD].tolist() if LAST_WORD in words else numbers
    spans = zip(numbers, lasts, strict=True)
    first_words = {n: start for start, final in spans for n in range(start, final + 1)}
    for word, cell in zip(numbers, words[TASK].astype(str), strict=True):
        for label, span1, span2 in decode_cell(cell, word):
            place, related = first_words.get(span1[0]), first_words.get(span2[0] if span2 else -1)
            if place is not None and related is not None and place != related:
                yield label, place, related


def list_relations(followed: pd.DataFrame) -> list[str]:
    """The relations with enough words, the commonest first."""
    counts = followed["relation"].value_counts()
    return [str(relation) for relation in counts.index[counts >= FEWEST]]


def score_relation(words: pd.DataFrame) -> pd.DataFrame:
    """Every head's share of words from which it looks most at the related one: source, site, layer, head, value with its
    95 % interval over documents, n; last the fixed offset that does best.
    """
    heads, offsets = _list_columns(words)
    best, rows = max(offsets, key=lambda column: words[column].mean()), []
    for name in [*heads, best]:
        site, _, head = name.rpartition(":")
        share = bootstrap_mean(words[name].to_numpy(float), words["document"].to_numpy(), lowest=0)
        is_head = name != best
        rows.append(
            {"source": "head" if is_head else f"offset {int(head):+d}", "site": site, "head": int(head) if is_head else -1}
            | {"layer": layer_of(site) if is_head else -1, "n": len(words)} | share.columns("value")
        )  # fmt: skip
    return pd.DataFrame(rows)


def pick_heads(
    followed: pd.DataFrame, seed: int = 0, relations: Sequence[str] = ()
) -> pd.DataFrame:
    """One row per relation (of all, ``all``; default: it and the commonest): the head and the fixed offset that do best on half of the documents, and their
    shares on the other half: relation, n, site, layer, head, value with its interval, offset, by_offset and beyond (the
    head's share less the offset's, paired) with theirs.
    """
    chosen_on = halve_documents(followed["document"].to_numpy(), seed)
    sequences = followed[["sequence"]].to_numpy()
    half, rows = leave_out(chosen_on, ~chosen_on, sequences), []
    for relation in relations or ["all", *list_relations(followed)[:COMMONEST]]:
        is_relation = (followed["relation"] == relation) | (relation == "all")
        if (is_relation & half).any() and (is_relation & ~chosen_on).any():
            halves = followed[is_relation & half], followed[is_relation & ~chosen_on]
            rows.append({"relation": relation} | _pick(*halves))
    return pd.DataFrame(rows)


def _list_columns(followed: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The columns of heads, and those of the fixed offsets that one of them could look at: of causal maps, those before a word."""
    maps = [name for name in map(str, followed) if ":" in name]
    heads = [name for name in maps if not name.startswith(OFFSET)]
    looks_back = all(is_causal(name.rpartition(":")[0]) for name in heads)
    offsets = [name for name in maps if name.startswith(f"{OFFSET}{'-' * looks_back}")]
    return heads, offsets


def _pick(chosen_on: pd.DataFrame, scored_on: pd.DataFrame) -> dict[str, object]:
    heads, offsets = _list_columns(chosen_on)
    head, offset = (str(chosen_on[names].mean().idxmax()) for names in (heads, offsets))
    values, rivals = (scored_on[name].to_numpy(float) for name in (head, offset))
    site, _, number = head.rpartition(":")
    row = {"n": len(scored_on), "site": site, "layer": layer_of(site), "head": int(number)}
    row |= {"offset": int(offset.removeprefix(OFFSET))}
    documents = scored_on["document"].to_numpy()
    for name, shares in (("value", values), ("by_offset", rivals)):
        row |= bootstrap_mean(shares, documents, lowest=0).columns(name)
    row |= bootstrap_mean(values - rivals, documents, lowest=-1).columns("beyond")
    return row


def pair_words(tokens: pd.DataFrame) -> list[tuple[int, int]]:
    """The first tokens of every word of a sample and of the word that it depends on, as positions in the table."""
    words = tokens[tokens[WORD] >= 0].drop_duplicates(WORD)
    places = dict(zip(words[WORD].tolist(), words.index.tolist(), strict=True))
    return [(places[word], places[related]) for _, word, related in find_edges(tokens)]


def score_sharpness(store: Store) -> pd.DataFrame:
    """The mean largest weight of every head's queries, over the first samples; of causal maps without the first token, a sink of weight, as query and key."""
    rows = []
    for site in list_maps(store):
        n, start = min(SHARP, store.count_maps(site)), int(has_sink(site))
        weights = [store.attention(site, sample)[..., start:, start:] for sample in range(n)]
        largest = np.concatenate([maps.max(-1, initial=0) for maps in weights], axis=1)
        means = largest.sum(1) / max(1, largest.shape[1])  # of texts of one token nothing
        place = {"source": "head", "site": site, "layer": layer_of(site), "n": n}
        rows += [place | {"head": head, "value": float(x)} for head, x in enumerate(means)]
    return pd.DataFrame(rows)


def has_sink(site: str) -> bool:
    """True of causal maps, whose heads look at the first token where they look at nothing else."""
    return is_causal(site) and len({*sides_of(site)}) == 1


def follow(store: Store) -> pd.DataFrame | None:
    """What :func:`follow_relations` gives; None of a store without relations between words."""
    try:
        return follow_relations(store, nearby=True)
    except InputError:
        return None
