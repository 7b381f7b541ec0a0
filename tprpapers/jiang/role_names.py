"""Names of a dictionary's roles: what the words that a head gives one role have in common."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.analyses.naming.fields import Field, describe
from tprprobe.analyses.naming.names import name_clusters
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.store import Store

NONE = "none"
FIELDS = {  # the first one is what every name begins with
    "pos": Field(("pos",)),
    "dep": Field(("dep",)),
    "entity": Field(("entity",), words={NONE: "no entity"}),
    "place": Field(("place",), "word {}", {6: "word 6+"}, most=6),
    "before": Field(("before",), "after {}", {NONE: "first word"}),
}


def name_dictionary(store: Store, site: str, seed: int = 0) -> pd.DataFrame:
    """One row per head and used role of ``….role_weights``: the columns of ``name_roles``, and head, role.

    Predicates are conjunctions of tag, relation, entity, place in the text (words from 1) and the tag
    before, of the word that a token belongs to; in a decoder of the word that the state predicts.
    Source: jiang §4.4 asks what structures the discrete roles encode.

    Raises:
        InputError: no such site, no role weights, or a token table without tags.
    """
    roles, words = _strongest(store, site)
    lattice = build_lattice(describe(words, FIELDS))
    tables = []
    for head in range(roles.shape[1]):
        used_roles, labels = np.unique(roles[:, head], return_inverse=True)
        names = name_clusters(labels, lattice, words["sample"].to_numpy(), seed)
        tables.append(names.assign(head=head, role=used_roles[names["cluster"].to_numpy()]))
    return pd.concat(tables, ignore_index=True).drop(columns="cluster")


def _strongest(store: Store, site: str) -> tuple[Int[np.ndarray, "word head"], pd.DataFrame]:
    """The strongest role of every head where the word is known, and the fields of these words."""
    (site,) = store.select(site)
    if "n_roles" not in store.specs[site].axes:
        raise InputError(f"{site} holds no role weights: give a site ….role_weights")
    rows, words = read_fields(store.tokens_of(site), store.side(site) == "target")
    return store.read(site)[rows].argmax(-1), words


def read_fields(tokens: pd.DataFrame, ahead: bool) -> tuple[np.ndarray, pd.DataFrame]:
    """The rows whose word is known, and of these words sample, pos, dep, entity, place, before.

    ``ahead`` asks about the word of the next token.
    """
    for column in (WORD, "pos"):
        if column not in tokens:
            raise InputError(f"the token table has no column {column!r}: extract labeled data")
    table = tokens.reset_index(drop=True)
    words = _words(table)
    targets = table[["sample", WORD]].shift(-1 if ahead else 0)
    targets["own"] = table["sample"]
    keep = (targets["sample"] == targets["own"]) & (targets[WORD] >= 0)
    keys = pd.MultiIndex.from_frame(targets.loc[keep, ["sample", WORD]].astype(int))
    rows = np.flatnonzero(keep.to_numpy())
    return rows, words.reindex(keys).reset_index(drop=True)


def _words(table: pd.DataFrame) -> pd.DataFrame:
    """One row per word: sample, number, tag, dependency, place, entity and the tag before."""
    tokens = table[table[WORD] >= 0].drop_duplicates(["sample", WORD])
    words = pd.DataFrame(
        {
            "sample": tokens["sample"].astype(int),
            WORD: tokens[WORD].astype(int),
            "pos": _labels(tokens, "pos"),
            "dep": _labels(tokens, "dep"),
            "place": tokens[WORD].astype(int) + 1,
        }
    ).reset_index(drop=True)
    words["entity"] = _entities(tokens)
    previous_tags = words.groupby("sample")["pos"].shift(1)
    words["before"] = previous_tags.where(previous_tags.notna(), NONE)
    return words.set_index(["sample", WORD], drop=False).rename_axis([None, None])


def _labels(tokens: pd.DataFrame, task: str) -> list[str]:
    if task not in tokens:
        return [NONE] * len(tokens)
    cells = zip(tokens[task].astype(str), tokens[WORD], strict=True)
    decoded = [decode_cell(cell, int(word)) for cell, word in cells]
    return [targets[0].label if targets else NONE for targets in decoded]


def _entities(tokens: pd.DataFrame) -> list[str]:
    """The entity that every word is part of."""
    if "nel" not in tokens:
        return [NONE] * len(tokens)
    inside: Mapping[tuple[int, int], str] = {
        (int(sample), position): target.label
        for cell, sample, word in zip(
            tokens["nel"].astype(str), tokens["sample"], tokens[WORD], strict=True
        )
        for target in decode_cell(cell, int(word))
        for position in range(*target.span1)
    }
    places = zip(tokens["sample"], tokens[WORD], strict=True)
    return [inside.get((int(sample), int(word)), NONE) for sample, word in places]
