"""Metrics of predicted labels: counts of every target, which groups add up, and the numbers that totals give."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from tprprobe.statistics import Statistic as Statistic
from tprprobe.statistics import Sums as Sums
from tprprobe.statistics import Totals, divide, f1

# Of a target: labels predicted rightly, predicted wrongly, not predicted; whether its likeliest label is right; whether
# it counts; and −ln p of its labels (NaN of predictions without probabilities).
TERMS = ("hit", "false", "missed", "right", "n", "nats")
HIT, FALSE, MISSED, RIGHT, N, NATS = range(len(TERMS))

Marks = Bool[np.ndarray, "target label"]
Outcomes = Float[np.ndarray, "group label outcome"]  # right, predicted wrongly, not predicted
Groups = Int[np.ndarray, " target"]
Terms = Float[np.ndarray, "target term"]
Scored = Bool[np.ndarray, " label"]  # which labels count


class Predictions(NamedTuple):
    """What an estimator predicts: the likeliest label of every target, all that it gives it, and −ln p of its labels."""

    likeliest: Int[np.ndarray, " target"]
    predicted: Marks
    nats: Float[np.ndarray, " target"]


def predict_one_label(labels: Int[np.ndarray, " target"], n_labels: int) -> Predictions:
    """Predictions of one label a target, without probabilities."""
    return Predictions(labels, np.eye(n_labels, dtype=bool)[labels], np.full(len(labels), np.nan))


def count_terms(
    predictions: Predictions, gold: Marks, n_unseen: Groups, is_scored: Scored
) -> Terms:
    """The counts TERMS of every target; ``n_unseen`` of its labels no estimator can know, and they count as missed.

    Source: jiant, AllenNLP's F1Measure.
    """
    counts, predicted = gold & is_scored, predictions.predicted & is_scored
    n_gold, hit = counts.sum(1), (predicted & gold).sum(1)
    is_right = gold[np.arange(len(gold)), predictions.likeliest]
    columns = (
        hit,
        (predicted & ~gold).sum(1),
        n_gold - hit + n_unseen,
        is_right & (n_gold > 0),
        (n_gold > 0) | (n_unseen > 0),
        predictions.nats,
    )
    return np.stack([np.asarray(column, float) for column in columns], 1)


def sum_groups(
    terms: Terms, groups: Groups, n_groups: int, subsets: Sequence[Bool[np.ndarray, " target"]] = ()
) -> Float[np.ndarray, "subset group term"]:
    """The sums over the targets of every group: of all, then of subsets."""
    masks = (np.ones(len(terms), bool), *subsets)
    sums = [[np.bincount(groups[x], term[x], n_groups) for term in terms.T] for x in masks]
    return np.array(sums).transpose(0, 2, 1)


def count_labels(
    predictions: Predictions, gold: Marks, is_scored: Scored, groups: Groups, n_groups: int
) -> Outcomes:
    """How often every group's labels are predicted rightly, predicted wrongly and not predicted; 0 of labels that do not count."""
    predicted = predictions.predicted
    outcomes = (predicted & gold, predicted & ~gold, gold & ~predicted)
    sums = [[marks[groups == group].sum(0) for marks in outcomes] for group in range(n_groups)]
    return np.array(sums, float).swapaxes(1, 2) * is_scored[:, None]


def macro_f1(outcomes: Float[np.ndarray, "label outcome"]) -> float:
    """The mean F1 of the labels that occur among the labels or the predictions; NaN where none does."""
    by_label = f1(outcomes[outcomes.any(1)])
    return float(by_label.mean()) if len(by_label) else np.nan


def micro_f1(totals: Totals) -> Float[np.ndarray, " replicate"]:
    """2 hit / (2 hit + false + missed) of totals of TERMS."""
    return f1(totals[:, : MISSED + 1])


def accuracy(totals: Totals) -> Float[np.ndarray, " replicate"]:
    """The share of targets whose likeliest label is right."""
    return divide(totals[:, RIGHT], totals[:, N])


def precision(totals: Totals) -> Float[np.ndarray, " replicate"]:
    """hit / (hit + false)."""
    return divide(totals[:, HIT], totals[:, HIT] + totals[:, FALSE])


def recall(totals: Totals) -> Float[np.ndarray, " replicate"]:
    """hit / (hit + missed)."""
    return divide(totals[:, HIT], totals[:, HIT] + totals[:, MISSED])


def codelength(n_first: int, n_labels: int, nats: Sequence[float]) -> float:
    """The bits of all labels, coded portion by portion: t_1 log2 K − Σ_i log2 p_i(portion i + 1) (Voita and Titov 2020)."""
    return n_first * np.log2(n_labels) + sum(nats) / np.log(2)


def compression(bits: float, n_targets: int, n_labels: int) -> float:
    """The compression n log2 K / bits, which is 1 for a uniform predictor."""
    return n_targets * np.log2(n_labels) / bits


def constant_bits(training: Marks, tested: Bool[np.ndarray, "_tested label"]) -> float:
    """The bits a target that the label shares of the training data (one added to each count) cost."""
    shares = (training.sum(0) + 1) / (training.sum() + training.shape[1])
    labelled = tested[tested.any(1)]
    return float(-(labelled @ np.log2(shares) / labelled.sum(1)).mean())
