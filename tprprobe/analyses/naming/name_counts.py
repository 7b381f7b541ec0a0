"""How many clusters have a name, in the trained model and in its baseline model."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.store.token_texts import SPECIAL

NO_EVIDENCE = ", so their number is no evidence of what training adds"


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
    return {model: (named, n) for model, named, n in counts.itertuples(index=False)}


def state_names(counts: Mapping[str, tuple[int, int]], place: str = "the trained model") -> str:
    """How many clusters have a name, without the baseline model."""
    named, n_clusters = counts[TRAINED]
    return f"{named} of {n_clusters} clusters of {place} {'has' if named == 1 else 'have'} a name that holds on held-out texts"


def compare_names(counts: Mapping[str, tuple[int, int]], place: str = "the trained model") -> str:
    """How many clusters have a name, how many of the baseline model, and what that means, in one sentence."""
    baselines = {model: count for model, count in counts.items() if model != TRAINED}
    if not baselines:
        return f"{state_names(counts, place)}; there is no baseline model that would tell what training adds."
    of_baselines = " and ".join(
        f"{named} of {n} of its baseline model ({model})" for model, (named, n) in baselines.items()
    )
    surplus = counts[TRAINED][0] - max(named for named, _ in baselines.values())
    meaning = f": training adds {surplus} (no test compares the counts, since clusters depend on each other)"
    return f"{state_names(counts, place)}, {of_baselines}{meaning if surplus > 0 else NO_EVIDENCE}."


def quote(name: str) -> str:
    """The name in quotation marks, once."""
    return name if name.startswith("‘") and name.endswith("’") else f"‘{name}’"


def list_repeated(names: pd.Series) -> str:
    """Which names several clusters of one clustering have, as a sentence after others; empty if none."""
    counts = names[names != UNNAMED].value_counts()
    repeated = [
        f"{n} clusters are named {quote(str(name))}" for name, n in counts[counts > 1].items()
    ]
    return f" {'; '.join(repeated)}." if repeated else ""
