"""How many clusters have a name, in the trained model and in its baseline model."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.store.token_texts import SPECIAL

TRAINED = "trained"  # the model of a store, beside those of its twins


def select_named(names: pd.DataFrame) -> pd.DataFrame:
    """The clusters with a name but of a special token, which is known without a model."""
    return names[(names["name"] != UNNAMED) & ~_are_marks(names)]


def _are_marks(names: pd.DataFrame) -> "pd.Series[bool]":
    """Which clusters are of a special token."""
    return names["name"].astype(str).str.fullmatch(SPECIAL)


def count_marks(names: pd.DataFrame) -> str:
    """How many clusters of special tokens count as unnamed, as a sentence after others; empty if there are none."""
    marks = names[_are_marks(names)]
    counts = ", ".join(
        f"{n} ({model})" for model, n in marks["model"].value_counts(sort=False).items()
    )
    tokens = ", ".join(sorted(marks["name"].unique()))
    return f" Clusters of special tokens ({tokens}) count as unnamed: {counts}." * bool(counts)


def count_names(names: pd.DataFrame, keys: list[str], **further: Sequence[int]) -> pd.DataFrame:
    """One row per clustering, which ``keys`` tell apart: clusters, those with a name (but of a special token), the share of tokens in these, stability."""
    has_name = names.index.isin(select_named(names).index)
    counts = {"clusters": 1, "named": has_name.astype(int), **further}
    counts["coverage"] = names["coverage"].where(has_name, 0.0)
    groups: Any = names.assign(**counts).groupby(keys, sort=False, dropna=False)
    return groups.agg(dict.fromkeys(counts, "sum") | {"stability": "first"}).reset_index()


def find_most_named(names: pd.DataFrame, keys: list[str]) -> Any:
    """The clustering, told apart by ``keys``, that is drawn by default: the one with most tokens in named clusters."""
    return count_names(names, keys).nlargest(1, "coverage").iloc[0]


def count_by_model(names: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """The named clusters and all clusters of every model."""
    counts = count_names(names, ["model"])[["model", "named", "clusters"]]
    return {model: (n_named, n) for model, n_named, n in counts.itertuples(index=False)}


def state_names(counts: Mapping[str, tuple[int, int]], place: str = "the trained model") -> str:
    """How many clusters have a name, without the baseline model."""
    n_named, n_clusters = counts[TRAINED]
    return f"{n_named} of {n_clusters} clusters of {place} {'has' if n_named == 1 else 'have'} a name that holds on held-out texts"


def compare_names(counts: Mapping[str, tuple[int, int]], place: str = "the trained model") -> str:
    """How many clusters have a name, and how many of the baseline model, in one sentence."""
    of_baselines = " and ".join(
        f"{n_named} of {n} of its baseline model ({model})"
        for model, (n_named, n) in counts.items()
        if model != TRAINED
    )
    control = f", {of_baselines} (no test compares the counts: clusters depend on each other)"
    return f"{state_names(counts, place)}{control if of_baselines else '; there is no baseline model'}."


def compare_samples(names: pd.DataFrame) -> str:
    """Which baseline models read a part of the samples alone, as a sentence after others; empty if none."""
    keys = [key for key in ("site", "head", "k", "model") if key in names]
    sizes = names.groupby(keys, dropna=False)["size"].sum().unstack("model").dropna()
    n_tokens = sizes.iloc[0] if len(sizes) else pd.Series({TRAINED: 0})
    fewer = n_tokens[n_tokens != n_tokens[TRAINED]].items()
    tokens = ", ".join(f"{n:,.0f} of its baseline model ({model})" for model, n in fewer)
    return (
        f" Names are measured on {n_tokens[TRAINED]:,.0f} tokens of the trained model, and on {tokens}, which read a part of the samples."
        * bool(tokens)
    )


def quote(name: str) -> str:
    """The name in quotation marks, once."""
    return name if name.startswith("‘") and name.endswith("’") else f"‘{name}’"
