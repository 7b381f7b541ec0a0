"""Names of ten clusters of unbinding vectors: huang's Table 3, made by the naming engine."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprpapers.huang.unbinding.generations import GeneratedWords
from tprprobe.analyses.naming.fields import Field, describe
from tprprobe.analyses.naming.names import name_clusters
from tprprobe.estimators.clusters.names import build_lattice

LAST_POSITION = 6  # this position and all later ones are one class
FIELDS = {
    "position": Field(
        ("position",),
        "position {}",
        {LAST_POSITION: f"position {LAST_POSITION}+"},
        highest=LAST_POSITION,
    ),
    "kind": Field(("kind",)),
    "spatial": Field(("spatial",), "{} preposition"),
    "previous": Field(("previous_kind",), "after {}", {"start": "after the start"}),
    "pos": Field(("pos",)),
    "word": Field(("common",), "“{}”"),
}
COMMON = 30  # words that a name may say
MIN_SHARE = 0.08  # least share of a cluster's words that a kind must have to be told
DOMINANT = 0.95  # share of one position from which on the position alone is told, as in the paper


def interpret(
    words: GeneratedWords, labels: Int[np.ndarray, " word"], seed: int = 0
) -> pd.DataFrame:
    """One row per cluster: its name by ``name_clusters``, and its words on the held-out half.

    ``told`` is the interpretation in the paper's form: the position where nearly all words stand at
    one, else kinds of words with their shares, prepositions as spatial and other ones.
    Source: huang §5.3.2, Table 3 (100 captions, by eye).
    """
    described = describe(_fields(words.table), FIELDS)
    groups = words.table["group"].to_numpy()
    names = name_clusters(labels, build_lattice(described), groups, seed)
    is_held_out = ~words.table["learned"].to_numpy()
    held_words = words.table.loc[is_held_out].assign(label=labels[is_held_out])
    summaries = {label: _summarize_kinds(rows) for label, rows in held_words.groupby("label")}
    return names.assign(told=names["cluster"].map(summaries).fillna("no words"))


def _fields(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that names are made of; an empty text is a missing value."""
    common = table["word"].where(table["word"].isin(table["word"].value_counts().index[:COMMON]))
    columns = table.loc[:, ["position", "kind", "spatial", "previous_kind", "pos"]]
    return columns.assign(common=common).replace({"": None, "other": None})


def _summarize_kinds(rows: pd.DataFrame) -> str:
    positions: Any = rows["position"].value_counts(normalize=True)
    if positions.iloc[0] >= DOMINANT:
        return f"position {positions.index[0]} ({positions.iloc[0]:.2f})"
    is_preposition = rows["kind"] == "preposition"
    kinds = rows["kind"].where(~is_preposition, rows["spatial"] + " preposition")
    shares: Any = kinds.value_counts(normalize=True)
    return ", ".join(
        f"{kind.replace('other preposition', 'non-spatial preposition')} ({share:.2f})"
        for kind, share in shares.items()
        if share >= MIN_SHARE
    )
