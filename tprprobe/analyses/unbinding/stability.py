"""Stability of clusters of unbinding vectors over seeds and over numbers of clusters."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from tprprobe.analyses.clustering import Clusters, cluster
from tprprobe.analyses.naming.measures import count_tables, measure
from tprprobe.analyses.unbinding.generations import GeneratedWords
from tprprobe.analyses.unbinding.ten_clusters import labels_of

KS = (2, 5, 10, 17, 20)


def find_clusters(
    words: GeneratedWords, ks: Sequence[int] = KS, seed: int = 0, n_seeds: int = 10
) -> dict[int, Clusters]:
    """The clusters of a site's raw vectors, for every k. Source: huang §5.3.2 (k-means, 2 and 10)."""
    return {
        k: cluster(words.store, words.site, k=k, seed=seed, raw=True, n_seeds=n_seeds) for k in ks
    }


def compare_ks(words: GeneratedWords, clusters: Iterable[Clusters]) -> pd.DataFrame:
    """One row per k: stability (mean adjusted Rand index between seeds), inertia, AMI with tag, kind,
    side and position.
    """
    rows = []
    for each in clusters:
        labels = labels_of(words, each)
        row = {"k": each.k, "seeds": each.n_seeds, "stability": each.stability}
        for name in ("position", "pos", "kind", "side"):
            known = (words.table[name] != "").to_numpy()
            classes = pd.factorize(words.table[name][known])[0]
            tables = count_tables(labels[known], np.asarray(classes)[None])
            row[f"ami_{name}"] = float(measure(tables)["ami"][0])
        rows.append(row)
    return pd.DataFrame(rows)
