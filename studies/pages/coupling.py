"""Coupling of roles and attention: does a head's role say what the head attends to?"""

from collections.abc import Iterable
from itertools import permutations
from operator import ne
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import norm

from tprprobe.analyses.attention.gold_maps import annotated_tokens
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap_mean, permute_within
from tprprobe.store import Store

FOLDS, PERMUTATIONS = 5, 5
PAIRINGS, ALPHA = 24, 0.025

Codes = Int[np.ndarray, " token"]
Bits = Float[np.ndarray, " token"]


@runtime_checkable
class HeadClusters(Protocol):
    """Clusters of the vectors of one head, as :func:`tprprobe.analyses.clustering.cluster` returns."""

    @property
    def site(self) -> str: ...

    @property
    def head(self) -> int | None: ...

    @property
    def labels(self) -> np.ndarray: ...


def couple_roles(store: Store, clusters: Iterable[HeadClusters], seed: int = 0) -> pd.DataFrame:
    """Mutual information of a head's role clusters with the token that the head attends to.

    One row per head and kind of ``attended``: the symbol at the key with the largest weight, or its
    gold structure (digits by polarity, operators by symbol, other characters by kind). With I(c, a)
    the information of head c's clusters about what head a attends to:
    information   I(h, h) in bits, held out: by how much the cluster makes what is attended to less
                  surprising, by shares counted in other questions; no information is 0 or a little
                  below
    chance        the same with clusters permuted within questions
    others        the mean of I(h, a) over the layer's other heads a
    advantage     I(h, h) − mean I(h, a) − mean I(c, h) + mean I(c, a) over the other heads a and c: a
                  head with good clusters has none by these, nor one whose keys every cluster tells;
                  _low, _high are 95 % intervals over questions
    share         information / H(attended)
    pairings      the share of the other pairings of clusters with heads (every head's clusters with what another head
                  attends to) in which one head or more would have such an advantage
    Source: schlag Sec. 1 (a role signifies the relation whose filler its head retrieves).

    Raises:
        InputError: clusters that are not of two heads or more of an encoder's self-attention with
            maps, no arithmetic.
    """
    rows = []
    for site, head_clusters in _by_layer(store, clusters).items():
        tokens = annotated_tokens(store, range(store.count_maps(site)))
        questions = pd.factorize(tokens["sample"])[0]
        labels = {
            h: np.asarray(head_cluster.labels)[: len(tokens)].astype(int)
            for h, head_cluster in head_clusters.items()
        }
        keys = _attended(store, site, tokens)
        for name, codes in _kinds(tokens).items():
            for head, measures in _couple(labels, codes[keys], questions, seed).items():
                rows.append({"layer": layer_of(site), "head": head, "attended": name} | measures)
    return pd.DataFrame(rows)


def _by_layer(store: Store, clusters: Iterable[HeadClusters]) -> dict[str, dict[int, HeadClusters]]:
    """The clusters of every head, by the site of the maps of their layer."""
    clusters_of_site: dict[str, dict[int, HeadClusters]] = {}
    for roles in clusters:
        site = store.select(roles.site.rpartition(".")[0] + ".attention")[0]
        if roles.head is None:
            raise InputError(
                f"{roles.site} has no heads: roles couple with what their own head reads"
            )
        clusters_of_site.setdefault(site, {})[roles.head] = roles
    if single_headed := [site for site, heads in clusters_of_site.items() if len(heads) < 2]:
        raise InputError(
            f"{single_headed[0]}: clusters of one head; roles couple with what their own of several heads reads"
        )
    return clusters_of_site


def _attended(store: Store, site: str, tokens: pd.DataFrame) -> Int[np.ndarray, "head token"]:
    """The row of the key that each head attends to most, for every query."""
    starts = tokens.groupby("sample").head(1).index
    maps = [store.attention(site, int(sample)) for sample in tokens["sample"].unique()]
    best = [head_maps.argmax(-1) + start for head_maps, start in zip(maps, starts, strict=True)]
    return np.concatenate(best, axis=1)


def _kinds(tokens: pd.DataFrame) -> dict[str, Codes]:
    """Every token's symbol and its gold structure, numbered."""
    symbol, polarity = tokens["token"].astype(str), tokens["polarity"].astype(object)
    kind = tokens["kind"].astype(str)
    gold = kind.where(kind != "op", symbol)
    gold = gold.where(polarity.isna(), kind + " " + polarity.fillna("").astype(str))
    return {name: pd.factorize(values)[0] for name, values in (("symbol", symbol), ("gold", gold))}


def _couple(
    labels: dict[int, Codes], attended: Int[np.ndarray, "head token"], questions: Codes, seed: int
) -> dict[int, dict[str, float]]:
    """The information, chance, others and advantage of every head."""
    rng = np.random.default_rng(seed)
    folds = np.argsort(np.argsort(rng.random(questions.max() + 1)))[questions] % FOLDS
    information = {
        h: np.stack([_gains(codes, keys, folds) for keys in attended])
        for h, codes in labels.items()
    }
    rows = {}
    pairings = _other_pairings(information, questions, seed)
    for head, head_gains in information.items():
        shuffled = [labels[head][permute_within(questions, rng)] for _ in range(PERMUTATIONS)]
        chance = np.mean([_gains(codes, attended[head], folds).mean() for codes in shuffled])
        surprise = -_log_shares(np.zeros_like(folds), attended[head], folds).mean()
        gain = bootstrap_mean(head_gains[head], questions, seed=seed)
        advantage = bootstrap_mean(_double_centered(information, head), questions, seed=seed)
        rows[head] = {
            "information": gain.value,
            "information_low": gain.low,
            "information_high": gain.high,
            "chance": float(chance),
            "others": float(np.delete(head_gains, head, axis=0).mean()),
            "advantage": advantage.value,
            "advantage_low": advantage.low,
            "advantage_high": advantage.high,
            "share": gain.value / surprise,
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
