"""How often every attention head looks from a word at the word that a labelled relation relates it to."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.estimators.attention import PointingMap, join_words
from tprprobe.evaluation.splits import halve_documents, leave_out, read_provenance
from tprprobe.gold.labels import LAST_WORD, WORD, decode_cell
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store

TASK = "dep"
SHARP = 16  # samples of which the sharpest head is sought
FEWEST, COMMONEST = 20, 12  # words of a relation that is scored by itself; relations of a table
OFFSET = "offset:"  # names a column of a fixed distance
OFFSETS = [each for each in range(-6, 7) if each]


def follow_relations(store: Store, backward: bool = False) -> pd.DataFrame:
    """One row per word with a head word: sample, document, sequence (a hash of the text), relation, at, of (numbers of the two words), and for every
    map ``site:head`` whether the most attended other word is that one; the same of every fixed ``offset:n``.

    From dependents to heads; ``backward`` from heads to dependents. Source: Clark et al. 2019.
    """
    if TASK not in store.tokens or WORD not in store.tokens:
        raise InputError(
            f"{store.path} has no relations between words ({TASK}): extract a treebank, or with --labels dep=spacy:FOLDER"
        )
    sites = list_self_maps(store)
    if not sites:
        raise InputError(f"{store.path} keeps no attention maps: extract with --attention-samples")
    kept = min(store.count_maps(site) for site in sites)
    tokens = store.tokens_of(sites[0])
    tokens = tokens[tokens["sample"] < kept].reset_index(drop=True)
    origin = read_provenance(tokens)
    tokens = tokens.assign(origin=origin.documents, sequence=origin.sequences[:, 0])
    parts = [
        _score(store, sites, int(str(sample)), part, backward)
        for sample, part in tokens.groupby("sample")
    ]
    parts = [each for each in parts if len(each)]
    if not parts:
        raise InputError(f"no sample of {store.path} with attention maps has words in relations")
    return pd.concat(parts, ignore_index=True)


def list_self_maps(store: Store) -> list[str]:
    """The sites of maps from tokens to tokens of the same side."""
    return [
        name
        for name, spec in store.specs.items()
        if store.count_maps(name) and len({*spec.rows.split("_")}) == 1
    ]


def _score(
    store: Store, sites: list[str], sample: int, tokens: pd.DataFrame, backward: bool
) -> pd.DataFrame:
    edges = list(_edges(tokens))
    if not edges:
        return pd.DataFrame()
    of_word, first = tokens[WORD].to_numpy(), tokens.iloc[0]
    at, of = np.array([each[1:] for each in edges]).T[:: -1 if backward else 1]
    rows: dict[str, Any] = {
        "sample": sample,
        "document": first["origin"],
        "sequence": first["sequence"],
        "relation": [each[0] for each in edges],
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
    """Relation, dependent and head of every word that has one, in tokens of their own.

    Words that share tokens go by the number of the first of them.
    """
    words = tokens[tokens[WORD] >= 0].drop_duplicates(WORD)
    numbers = words[WORD].tolist()
    lasts = words[LAST_WORD].tolist() if LAST_WORD in words else numbers
    first = {
        n: word for word, last in zip(numbers, lasts, strict=True) for n in range(word, last + 1)
    }
    for word, cell in zip(numbers, words[TASK].astype(str), strict=True):
        for label, span1, span2 in decode_cell(cell, word):
            at, of = first.get(span1[0]), first.get(span2[0] if span2 else -1)
            if at is not None and of is not None and at != of:
                yield label, at, of


def list_relations(followed: pd.DataFrame) -> list[str]:
    """The relations with enough words, the commonest first."""
    counts = followed["relation"].value_counts()
    return [str(each) for each in counts.index[counts >= FEWEST]]


def score_relation(followed: pd.DataFrame, relation: str = "") -> pd.DataFrame:
    """Every head's share of words from which it looks most at the related one: source, site, layer, head, value with its
    95 % interval over documents, n; last the fixed offset that does best. Of one relation, or of all.
    """
    part = followed[followed["relation"] == relation] if relation else followed
    names = [each for each in map(str, followed) if ":" in each]
    best = max(
        (each for each in names if each.startswith(OFFSET)), key=lambda each: part[each].mean()
    )
    rows = []
    for name in [each for each in names if not each.startswith(OFFSET)] + [best]:
        site, _, head = name.rpartition(":")
        found = bootstrap_mean(part[name].to_numpy(float), part["document"].to_numpy())
        is_head = name != best
        rows.append(
            {"source": "head" if is_head else f"offset {int(head):+d}", "site": site, "head": int(head) if is_head else -1}
            | {"layer": layer_of(site) if is_head else -1, "n": len(part)} | found.columns("value")
        )  # fmt: skip
    return pd.DataFrame(rows)


def pick_heads(followed: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per relation (of all, ``all``): the head and the fixed offset that do best on half of the documents, and their
    shares on the other half: relation, n, site, layer, head, value with its interval, offset, by_offset and beyond (the
    head's share less the offset's, paired) with theirs.
    """
    chosen_on = halve_documents(followed["document"].to_numpy(), seed)
    sequences = followed[["sequence"]].to_numpy()
    half, rows = leave_out(chosen_on, ~chosen_on, sequences), []
    for relation in ["all", *list_relations(followed)[:COMMONEST]]:
        of = (followed["relation"] == relation) | (relation == "all")
        if (of & half).any() and (of & ~chosen_on).any():
            both = followed[of & half], followed[of & ~chosen_on]
            rows.append({"relation": relation} | _pick(*both))
    return pd.DataFrame(rows)


def _pick(chosen_on: pd.DataFrame, scored_on: pd.DataFrame) -> dict[str, Any]:
    maps = [name for name in map(str, chosen_on) if ":" in name]
    heads = [name for name in maps if not name.startswith(OFFSET)]
    fitted = {
        kind: (PointingMap().fit(chosen_on[names]), names)
        for kind, names in (
            ("head", heads),
            ("offset", [name for name in maps if name not in heads]),
        )
    }
    values, rivals = (estimator.predict(scored_on[names]) for estimator, names in fitted.values())
    head, offset = (names[estimator.best_] for estimator, names in fitted.values())
    site, _, number = head.rpartition(":")
    row = {"n": len(scored_on), "site": site, "layer": layer_of(site), "head": int(number)}
    row |= {"offset": int(offset.removeprefix(OFFSET))}
    documents = scored_on["document"].to_numpy()
    for name, shares in (("value", values), ("by_offset", rivals), ("beyond", values - rivals)):
        row |= bootstrap_mean(shares, documents).columns(name)
    return row


def pair_words(tokens: pd.DataFrame) -> list[tuple[int, int]]:
    """The first tokens of every word of a sample and of the word that it depends on, as positions in the table."""
    words = tokens[tokens[WORD] >= 0].drop_duplicates(WORD)
    at = dict(zip(words[WORD].tolist(), words.index.tolist(), strict=True))
    return [(at[word], at[of]) for _, word, of in _edges(tokens)]


def score_sharpness(store: Store) -> pd.DataFrame:
    """The mean largest weight of every head's queries, over the first samples."""
    rows = []
    for site in (name for name in store.specs if store.count_maps(name)):
        n = min(SHARP, store.count_maps(site))
        largest = np.mean([store.attention(site, each).max(-1).mean(-1) for each in range(n)], 0)
        of = {"source": "head", "site": site, "layer": layer_of(site), "n": n}
        rows += [of | {"head": head, "value": float(each)} for head, each in enumerate(largest)]
    return pd.DataFrame(rows)


def follow(store: Store) -> pd.DataFrame | None:
    """What :func:`follow_relations` gives; None of a store without relations between words."""
    try:
        return follow_relations(store)
    except InputError:
        return None
