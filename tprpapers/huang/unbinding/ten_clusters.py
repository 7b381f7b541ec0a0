"""The paper's statements on ten clusters, as numbers with intervals over images."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprpapers.huang.unbinding.categories import KINDS
from tprpapers.huang.unbinding.contingency import Tables, compare, count, shares
from tprpapers.huang.unbinding.generations import GeneratedWords
from tprpapers.huang.unbinding.regions import cluster_rows, word_codes
from tprprobe.analyses.clustering import Clusters
from tprprobe.statistics import Interval, divide, permutations_within

Labels = Int[np.ndarray, " word"]
MIN_SHARE = 0.01  # share of the words that a cluster needs to count as one of them
PERMUTATIONS = 20
DEPTH = 12  # positions from here on are one


def labels_of(words: GeneratedWords, clusters: Clusters) -> Labels:
    """The cluster of every word."""
    return clusters.labels[words.table["row"].to_numpy()].astype(int)


def find_position(words: GeneratedWords, labels: Labels, position: int, seed: int = 0) -> Interval:
    """The lower of precision and recall of the best cluster for the words at a position.

    The cluster is chosen on one half of the images, and measured on the other.
    """
    is_there = (words.table["position"] == position).map({True: "here", False: "there"})
    is_fitted = words.table["learned"].to_numpy()
    fit_counts = count(
        labels[is_fitted], is_there[is_fitted], words.table["group"][is_fitted], ("here", "there")
    )
    best = int(np.argmax(_lower(fit_counts.table[None], slice(None))[0]))
    test_counts = count(
        labels[~is_fitted],
        is_there[~is_fitted],
        words.table["group"][~is_fitted],
        ("here", "there"),
    )
    if best >= test_counts.sums.shape[1]:
        best = 0
    return test_counts.measure(lambda tables: _lower(tables, best), seed)


def _lower(tables: Tables, cluster: Any) -> np.ndarray:
    """min(precision, recall) of clusters for the first class; 0 for an empty cluster."""
    hit = tables[:, cluster, 0]
    recall = hit / np.maximum(tables[:, :, 0].sum(1), 1)[(...,) + (None,) * (hit.ndim - 1)]
    return np.minimum(np.nan_to_num(divide(hit, tables[:, cluster].sum(-1))), recall)


def find_spatial(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """The share of spatial prepositions in every cluster of at least 1 % of the words."""
    held_out = words.held_out
    spatial = held_out["spatial"].where(held_out["spatial"] == "spatial", "none")
    counts = count(labels[held_out.index], spatial, held_out["group"], ("spatial", "none"))
    sizes = counts.table.sum(1)
    large = np.flatnonzero(sizes >= MIN_SHARE * sizes.sum())
    return {
        f"cluster {c}": counts.measure(lambda tables, c=c: shares(tables)[:, c, 0], seed)
        for c in large
    }


def one_side(words: GeneratedWords, labels: Labels, seed: int = 0) -> Interval:
    """The share of words after the second that are on the commoner side of their cluster."""
    held_out = words.held_out
    late = held_out.loc[held_out["position"] > 2]
    counts = count(labels[late.index], late["side"], late["group"])
    return counts.measure(lambda tables: tables.max(2).sum(1) / tables.sum((1, 2)), seed)


def dominant_kind(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """The share of the commonest kind after the second word, mean over clusters.

    ``clusters``; the same of as many clusters of the word before (``previous``); the ``difference``.
    """
    held_out = words.held_out
    late = held_out.loc[held_out["position"] > 2]
    previous = cluster_rows(word_codes(late["previous"]), int(labels.max()) + 1, seed)
    counts = [
        count(clusters, late["kind"], late["group"], KINDS)
        for clusters in (labels[late.index], previous)
    ]
    measures = {
        name: table.measure(_dominance, seed)
        for name, table in zip(("clusters", "previous"), counts, strict=True)
    }
    return measures | {"difference": compare(counts[0], counts[1], _dominance, seed)}


def _dominance(tables: Tables) -> Float[np.ndarray, " replicate"]:
    """The mean share of the commonest kind in clusters of at least 1 % of the words."""
    of_each = np.nan_to_num(shares(tables).max(2))
    sizes = tables.sum(2)
    large = sizes >= MIN_SHARE * sizes.sum(1, keepdims=True)
    return (of_each * large).sum(1) / large.sum(1)


def hybrid_roles(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """Adjusted mutual information of clusters with ``position`` in the first two words, and with
    ``pos`` given position after them; (I − P) / ((H(K) + H(C)) / 2 − P), sums over positions.

    P is the information of permutations: of all these words, or inside positions.
    """
    held_out = words.held_out
    late = (held_out["position"] > 2).to_numpy()
    position = "p" + held_out["position"].clip(upper=DEPTH).astype(str)
    early, later = held_out.loc[~late], held_out.loc[late]
    columns = {
        "position": (early, position[~late], np.zeros(len(early), int)),
        "pos": (later, later["pos"], later["position"].clip(upper=DEPTH).to_numpy()),
    }
    return {
        name: _adjusted(labels[rows.index], classes, strata, rows["group"], seed)
        for name, (rows, classes, strata) in columns.items()
    }


def _adjusted(
    labels: Labels, classes: pd.Series, strata: np.ndarray, groups: pd.Series, seed: int
) -> Interval:
    """The measure of the counts by stratum, with the permutations' information held fixed."""
    stratum = np.unique(strata, return_inverse=True)[1]
    k = int(labels.max()) + 1
    joint = stratum * k + labels
    counts = count(joint, classes, groups)
    rng = np.random.default_rng(seed)
    names = len(counts.classes)
    codes = pd.Categorical(classes, categories=list(counts.classes)).codes.astype(int)
    shape = (int(stratum.max()) + 1, k, names)
    chance = np.mean(
        [
            _informations(
                np.bincount(joint * names + codes[order], minlength=int(np.prod(shape)))
                .astype(float)
                .reshape(1, *shape)
            )[0]
            for order in permutations_within(stratum, PERMUTATIONS, rng)
        ],
        axis=0,
    )

    def measured(tables: Tables) -> Float[np.ndarray, " replicate"]:
        padded = np.zeros((len(tables), shape[0] * k, names))
        padded[:, : tables.shape[1]] = tables
        information, possible = _informations(padded.reshape(-1, *shape))
        return (information - chance[0]) / (possible - chance[0])

    return _unbiased(counts.measure(measured, seed))


def _unbiased(interval: Interval) -> Interval:
    """The interval moved by the bootstrap's bias: drawing images again adds chance information."""
    bias = float(interval.replicates.mean()) - interval.value
    return replace(
        interval,
        low=interval.low - bias,
        high=interval.high - bias,
        replicates=interval.replicates - bias,
    )


def _informations(
    tables: Float[np.ndarray, "replicate stratum cluster class"],
) -> tuple[np.ndarray, np.ndarray]:
    """I(K;C) and (H(K) + H(C)) / 2 in nats, means over strata by their words."""
    total = tables.sum((1, 2, 3))
    entropies = [
        _entropy(counts)
        for counts in (tables.sum(3), tables.sum(2), tables.reshape(*tables.shape[:2], -1))
    ]
    sizes = tables.sum((2, 3)) / total[:, None]
    clusters, classes, joint = ((sizes * entropy).sum(1) for entropy in entropies)
    return clusters + classes - joint, (clusters + classes) / 2


def _entropy(counts: Float[np.ndarray, "replicate stratum cell"]) -> np.ndarray:
    all_ = np.maximum(counts.sum(2, keepdims=True), 1)
    share = counts / all_
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return -(share * logs).sum(2)
