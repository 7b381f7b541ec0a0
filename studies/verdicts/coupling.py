"""Coupling of roles and attention: does a head's role say what the head attends to?"""

from collections.abc import Iterable
from itertools import permutations
from operator import ne
from typing import Protocol

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import norm

from tprprobe.analyses.attention.gold_maps import annotated_tokens
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store

FOLDS = 5
PAIRINGS, ALPHA = 24, 0.025

Codes = Int[np.ndarray, " token"]
Bits = Float[np.ndarray, " token"]


class HeadClusters(Protocol):
    """Clusters of the vectors of one head, as :func:`tprprobe.analyses.clustering.cluster` returns."""

    @property
    def site(self) -> str: ...

    @property
    def head(self) -> int | None: ...

    @property
    def labels(self) -> np.ndarray: ...


def couple_roles(store: Store, clusters: Iterable[HeadClusters], seed: int = 0) -> pd.DataFrame:
    """Mutual information of a head's role clusters with the symbol at the key that the head attends to most.

    One row per layer and head. With I(c, a) the information of head c's clusters about what head a attends to:
    information   I(h, h) in bits, held out: by how much the cluster makes the symbol less surprising, by shares
                  counted in other questions; no information is 0 or a little below
    advantage     I(h, h) − mean I(h, a) − mean I(c, h) + mean I(c, a) over the other heads a and c: a
                  head with good clusters has none by these, nor one whose keys every cluster tells;
                  _low, _high are 95 % intervals over questions
    pairings      the share of the other pairings of clusters with heads (every head's clusters with what another head
                  attends to) in which one head or more would have such an advantage
    Source: schlag Sec. 1 (a role signifies the relation whose filler its head retrieves).
    """
    labels_of_layer: dict[str, dict[int, Codes]] = {}
    for roles in clusters:
        site = roles.site.rpartition(".")[0] + ".attention"
        labels_of_layer.setdefault(site, {})[int(roles.head or 0)] = np.asarray(roles.labels)
    rows = []
    for site, labels in labels_of_layer.items():
        tokens = annotated_tokens(store, range(store.count_maps(site)))
        questions = pd.factorize(tokens["sample"])[0]
        symbols = pd.factorize(tokens["token"].astype(str))[0]
        codes = {h: of_head[: len(tokens)].astype(int) for h, of_head in labels.items()}
        attended = symbols[_attended(store, site, tokens)]
        for head, measures in _couple(codes, attended, questions, seed).items():
            rows.append({"layer": layer_of(site), "head": head} | measures)
    return pd.DataFrame(rows)


def _attended(store: Store, site: str, tokens: pd.DataFrame) -> Int[np.ndarray, "head token"]:
    """The row of the key that each head attends to most, for every query."""
    starts = tokens.groupby("sample").head(1).index
    maps = [store.attention(site, int(sample)) for sample in tokens["sample"].unique()]
    best = [head_maps.argmax(-1) + start for head_maps, start in zip(maps, starts, strict=True)]
    return np.concatenate(best, axis=1)


def _couple(
    labels: dict[int, Codes], attended: Int[np.ndarray, "head token"], questions: Codes, seed: int
) -> dict[int, dict[str, float]]:
    """The information, advantage and share of other pairings of every head."""
    rng = np.random.default_rng(seed)
    folds = np.argsort(np.argsort(rng.random(questions.max() + 1)))[questions] % FOLDS
    information = {
        h: np.stack([_gains(codes, keys, folds) for keys in attended])
        for h, codes in labels.items()
    }
    pairings = _other_pairings(information, questions, seed)
    rows = {}
    for head, head_gains in information.items():
        advantage = bootstrap_mean(_double_centered(information, head), questions, seed=seed)
        rows[head] = {
            "information": float(head_gains[head].mean()),
            **advantage.columns("advantage"),
            "pairings": pairings,
        }
    return rows


def _other_pairings(
    information: dict[int, Float[np.ndarray, "head token"]], questions: Codes, seed: int
) -> float:
    """The share of pairings without a head's own in which some head would have an advantage; at most PAIRINGS."""
    heads = sorted(information)
    derangements = [pairing for pairing in permutations(heads) if all(map(ne, pairing, heads))]
    wider = norm.isf(ALPHA / len(heads)) / norm.isf(ALPHA)  # as verdicts do where one head would do
    hold = []
    for pairing in derangements[:: max(1, len(derangements) // PAIRINGS)]:
        paired = {
            h: information[h][[heads.index(paired_head) for paired_head in pairing]] for h in heads
        }
        intervals = (
            bootstrap_mean(_double_centered(paired, h), questions, seed=seed) for h in heads
        )
        hold.append(
            any(interval.value > wider * (interval.value - interval.low) for interval in intervals)
        )
    return float(np.mean(hold))


def _double_centered(information: dict[int, Float[np.ndarray, "head token"]], head: int) -> Bits:
    """I(h, h) less what its clusters tell of other heads, and other clusters of this one."""
    other_clusters = np.mean(
        [gains for head_, gains in information.items() if head_ != head], axis=0
    )
    contrast = information[head] - other_clusters
    return contrast[head] - np.delete(contrast, head, axis=0).mean(0)


def _gains(labels: Codes, attended: Codes, folds: Codes) -> Bits:
    """log₂ p(attended | cluster) − log₂ p(attended) at every position."""
    prior = _log_shares(np.zeros_like(labels), attended, folds)
    return _log_shares(labels, attended, folds) - prior


def _log_shares(labels: Codes, attended: Codes, folds: Codes) -> Bits:
    """log₂ p(attended | cluster), counted in the other folds.

    To its counts each cluster adds as many as there are kinds, shared as in all clusters together;
    there each kind counts one more.
    """
    n_labels, n_kinds = labels.max() + 1, attended.max() + 1
    log_shares = np.empty(len(labels))
    for fold in range(FOLDS):
        is_counted, is_scored = folds != fold, folds == fold
        flat = np.bincount(
            labels[is_counted] * n_kinds + attended[is_counted], minlength=n_labels * n_kinds
        )
        counts = flat.reshape(n_labels, n_kinds)
        shared = (counts.sum(0) + 1) / (counts.sum() + n_kinds)
        shares = (counts + n_kinds * shared) / (counts.sum(1, keepdims=True) + n_kinds)
        log_shares[is_scored] = np.log2(shares[labels[is_scored], attended[is_scored]])
    return log_shares
