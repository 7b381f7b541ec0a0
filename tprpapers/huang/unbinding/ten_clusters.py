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
LEAST = 0.01  # share of the words that a cluster needs to count as one of them
PERMUTATIONS = 20
DEPTH = 12  # positions from here on are one


def labels_of(words: GeneratedWords, clusters: Clusters) -> Labels:
    """The cluster of every word."""
    return clusters.labels[words.table["row"].to_numpy()].astype(int)


def find_position(words: GeneratedWords, labels: Labels, position: int, seed: int = 0) -> Interval:
    """The lower of precision and recall of the best cluster for the words at a position.

    The cluster is chosen on one half of the images, and measured on the other.
    """
    own = (words.table["position"] == position).map({True: "here", False: "there"})
    learned = words.table["learned"].to_numpy()
    chosen = count(labels[learned], own[learned], words.table["group"][learned], ("here", "there"))
    best = int(np.argmax(_lower(chosen.table[None], slice(None))[0]))
    counted = count(
        labels[~learned], own[~learned], words.table["group"][~learned], ("here", "there")
    )
    if best >= counted.sums.shape[1]:
        best = 0
    return counted.measure(lambda tables: _lower(tables, best), seed)


def _lower(tables: Tables, cluster: Any) -> np.ndarray:
    """min(precision, recall) of clusters for the first class; 0 for an empty cluster."""
    hit = tables[:, cluster, 0]
    recall = hit / np.maximum(tables[:, :, 0].sum(1), 1)[(...,) + (None,) * (hit.ndim - 1)]
    return np.minimum(np.nan_to_num(divide(hit, tables[:, cluster].sum(-1))), recall)


def find_spatial(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """The share of spatial prepositions in every cluster of at least 1 % of the words."""
    held = words.held_out
    own = held["spatial"].where(held["spatial"] == "spatial", "none")
    counted = count(labels[held.index], own, held["group"], ("spatial", "none"))
    sizes = counted.table.sum(1)
    large = np.flatnonzero(sizes >= LEAST * sizes.sum())
    return {
        f"cluster {c}": counted.measure(lambda tables, c=c: shares(tables)[:, c, 0], seed)
        for c in large
    }


def one_side(words: GeneratedWords, labels: Labels, seed: int = 0) -> Interval:
    """The share of words after the second that are on the commoner side of their cluster."""
    held = words.held_out
    late = held.loc[held["position"] > 2]
    counted = count(labels[late.index], late["side"], late["group"])
    return counted.measure(lambda tables: tables.max(2).sum(1) / tables.sum((1, 2)), seed)


def dominant_kind(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """The share of the commonest kind after the second word, mean over clusters.

    ``clusters``; the same of as many clusters of the word before (``previous``); the ``difference``.
    """
    held = words.held_out
    late = held.loc[held["position"] > 2]
    previous = cluster_rows(word_codes(late["previous"]), int(labels.max()) + 1, seed)
    both = [
        count(each, late["kind"], late["group"], KINDS) for each in (labels[late.index], previous)
    ]
    found = {
        name: each.measure(_dominance, seed)
        for name, each in zip(("clusters", "previous"), both, strict=True)
    }
    return found | {"difference": compare(both[0], both[1], _dominance, seed)}


def _dominance(tables: Tables) -> Float[np.ndarray, " replicate"]:
    """The share of the commonest kind in a cluster, a mean that leaves out clusters under 1 % of
    the words.
    """
    of_each = np.nan_to_num(shares(tables).max(2))
    sizes = tables.sum(2)
    large = sizes >= LEAST * sizes.sum(1, keepdims=True)
    return (of_each * large).sum(1) / large.sum(1)


def hybrid_roles(words: GeneratedWords, labels: Labels, seed: int = 0) -> dict[str, Interval]:
    """Adjusted mutual information of clusters with ``position`` in the first two words, and with
    ``pos`` given position after them; (I − P) / ((H(K) + H(C)) / 2 − P), sums over positions.

    P is the information of permutations: of all these words, or inside positions.
    """
    held = words.held_out
    late = (held["position"] > 2).to_numpy()
    position = "p" + held["position"].clip(upper=DEPTH).astype(str)
    early, rest = held.loc[~late], held.loc[late]
    columns = {
        "position": (early, position[~late], np.zeros(len(early), int)),
        "pos": (rest, rest["pos"], rest["position"].clip(upper=DEPTH).to_numpy()),
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
    counted = count(joint, classes, groups)
    rng = np.random.default_rng(seed)
    names = len(counted.classes)
    codes = pd.Categorical(classes, categories=list(counted.classes)).codes.astype(int)
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

    return _unbiased(counted.measure(measured, seed))


def _unbiased(found: Interval) -> Interval:
    """The interval moved by the bootstrap's bias: drawing images again adds chance information."""
    bias = float(found.replicates.mean()) - found.value
    return replace(
        found,
        low=found.low - bias,
        high=found.high - bias,
        replicates=found.replicates - bias,
    )


def _informations(
    tables: Float[np.ndarray, "replicate stratum cluster class"],
) -> tuple[np.ndarray, np.ndarray]:
    """I(K;C) and (H(K) + H(C)) / 2 in nats, means over strata by their words."""
    total = tables.sum((1, 2, 3))
    entropies = [
        _entropy(part)
        for part in (tables.sum(3), tables.sum(2), tables.reshape(*tables.shape[:2], -1))
    ]
    sizes = tables.sum((2, 3)) / total[:, None]
    clusters, classes, both = ((sizes * each).sum(1) for each in entropies)
    return clusters + classes - both, (clusters + classes) / 2


def _entropy(counts: Float[np.ndarray, "replicate stratum cell"]) -> np.ndarray:
    all_ = np.maximum(counts.sum(2, keepdims=True), 1)
    share = counts / all_
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return -(share * logs).sum(2)
