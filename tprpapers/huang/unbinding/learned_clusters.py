"""Clusters of unbinding vectors, learned on this store or another."""

import os
from collections.abc import Sequence
from dataclasses import replace

from tprpapers.huang.unbinding.generations import GeneratedWords
from tprprobe.analyses.clustering import Clusters, cluster, load_clusters
from tprprobe.errors import InputError
from tprprobe.store import Store


def find_clusters(
    words: GeneratedWords,
    ks: Sequence[int],
    seed: int = 0,
    n_seeds: int = 10,
    learned_on: Store | None = None,
) -> dict[int, Clusters]:
    """The clusters of a site's raw vectors, for every k. Source: huang §5.3.2 (k-means, 2 and 10).

    The paper's centers are those of captions of the training images: ``learned_on`` is their store.
    """
    settings = {"seed": seed, "raw": True, "n_seeds": n_seeds}
    if learned_on is None:
        return {k: cluster(words.store, words.site, k=k, **settings) for k in ks}
    return {k: place_words(words, cluster(learned_on, words.site, k=k, **settings)) for k in ks}


def place_words(words: GeneratedWords, clusters: Clusters) -> Clusters:
    """The clusters of another store with the words' vectors, each in that of the nearest center."""
    vectors = words.store.read(words.site, slice(None))
    return replace(clusters, labels=clusters.assign(vectors.reshape(len(vectors), -1)))


def load_fitted_clusters(words: GeneratedWords, folder: str | os.PathLike[str], k: int) -> Clusters:
    """The clusters of a folder of ``tprprobe cluster --raw``, with the words' vectors.

    Raises:
        InputError: no clusters, or none of the site for that k.
    """
    for clusters in load_clusters(folder):
        if (clusters.site, clusters.k, clusters.raw) == (words.site, k, True):
            return place_words(words, clusters)
    raise InputError(
        f"{folder} has no {k} clusters of raw {words.site}: make them with `tprprobe cluster STORE "
        f"--site {words.site} -k {k} --raw --out FOLDER`"
    )
