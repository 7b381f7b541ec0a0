"""Names of the clusters of labelled words, of all heads, beside those of the untrained twin."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.clustering import Clusters, cluster
from tprprobe.analyses.clustering.matrices import Target, find_heads
from tprprobe.analyses.naming.heads import name_roles
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.sources import TRAINED, UNTRAINED
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

SEEDS = 5  # runs of k-means

Progress = Callable[[Sequence[Target]], Iterable[Target]]


def name_words(
    store: Store,
    patterns: str | Sequence[str] = "*.role",
    k: int = 20,
    raw: bool = False,
    seed: int = 0,
    progress: Progress = iter,
) -> pd.DataFrame:
    """One row per cluster of every head of the sites that match, in the model and its untrained twin.

    Columns: model (trained, untrained), site, layer, head, stability of k-means over seeds, commonest
    (its commonest tokens), then those of ``name_roles``: names are exact labels (tag, relation, role, entity),
    chosen on one half of the documents and scored on the other.

    Raises:
        InputError: no such site, no exact labels, fewer distinct vectors than k.
    """
    targets = find_heads(store, patterns)
    stores = {TRAINED: store, UNTRAINED: store.control}
    parts = []
    for site, head in progress(targets):
        for model, each in stores.items():
            if each is not None and site in each.specs:
                found = cluster(each, site, head, k, seed, raw, SEEDS)
                parts.append(_named(each, found, seed).assign(model=model))
    table = pd.concat(parts, ignore_index=True)
    first = ["model", "site", "layer", "head"]
    return table[[*first, *(name for name in table if name not in first)]]


def _named(store: Store, found: Clusters, seed: int) -> pd.DataFrame:
    summary = found.summary.set_index("cluster")
    named = name_roles(store, found, seed)
    place: dict[str, Any] = {"site": found.site, "layer": layer_of(found.site)}
    place |= {"head": found.head, "stability": found.stability}
    return named.assign(**place, commonest=named["cluster"].map(summary["top"]))


def count_names(named: pd.DataFrame) -> pd.DataFrame:
    """One row per head and model: clusters, those with a name, the share of tokens in these."""
    has_name = named["name"] != UNNAMED
    shares = named.assign(named=has_name, tokens=np.where(has_name, named["coverage"], 0.0))
    keys = ["site", "head", "model"]
    groups = shares.groupby(keys, sort=False, dropna=False)
    return groups.agg(
        clusters=("cluster", "size"),
        named=("named", "sum"),
        tokens=("tokens", "sum"),
        stability=("stability", "first"),
    ).reset_index()
