"""Differences of probes' F1 with intervals, drawn from the counts by document of several runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.evaluation.metrics import TERMS
from tprprobe.statistics import Interval, bounds, f1, replicate_totals

REPLICATES = 1000
COUNT_NAMES = list(TERMS[:3])
Statistic = Callable[[Float[np.ndarray, "replicate score"]], Float[np.ndarray, " replicate"]]


@dataclass(frozen=True)
class Place:
    """The probes of a run that are compared: all seeds of a site, or of a baseline (with an empty
    site).
    """

    folder: Path
    task: str
    site: str
    control: str = "real"
    side: str = "target"


def compare(statistic: Statistic, places: Sequence[Place]) -> Interval:
    """A function of the F1 of several probes, with its interval over the documents of all of them.

    A document that lacks a task's targets counts as one without any.
    """
    sums = pd.concat([_counts(place).add_suffix(f"@{i}") for i, place in enumerate(places)], axis=1)
    values = sums.fillna(0.0).to_numpy(float)
    totals = np.concatenate([values.sum(0)[None], replicate_totals(values, REPLICATES)])
    scores = np.stack(
        [f1(place_totals) for place_totals in np.split(totals, len(places), axis=1)], axis=1
    )
    statistics = statistic(scores)
    low, high = bounds(statistics[1:], len(values))
    return Interval(float(statistics[0]), float(low), float(high))


def count_documents(place: Place) -> int:
    """The number of documents that have targets."""
    return len(_counts(place))


def _counts(place: Place) -> pd.DataFrame:
    """The counts hit, false and missed by document, over all seeds."""
    table = pd.read_parquet(place.folder / "documents.parquet")
    is_of_place = (table["task"] == place.task) & (table["side"] == place.side)
    is_of_place &= (table["control"] == place.control) & (table["site"] == place.site)
    is_of_place &= table["head"].isna()
    return table[is_of_place].groupby("document")[COUNT_NAMES].sum()


def first_minus_best(
    scores: Float[np.ndarray, "replicate score"],
) -> Float[np.ndarray, " replicate"]:
    """The first minus the highest of the others."""
    return scores[:, 0] - scores[:, 1:].max(1)


def lowest_minus_last(
    scores: Float[np.ndarray, "replicate score"],
) -> Float[np.ndarray, " replicate"]:
    """The lowest of all but the last, minus the last."""
    return scores[:, :-1].min(1) - scores[:, -1]


def minus(scores: Float[np.ndarray, "replicate score"]) -> Float[np.ndarray, " replicate"]:
    """The first minus the second."""
    return scores[:, 0] - scores[:, 1]


def slope(scores: Float[np.ndarray, "replicate layer"]) -> Float[np.ndarray, " replicate"]:
    """The slope of a straight line through the scores of rising layers, a layer apart."""
    layers = np.arange(scores.shape[1]) - (scores.shape[1] - 1) / 2
    return scores @ layers / (layers @ layers)


def gain_of_gains(scores: Float[np.ndarray, "replicate score"]) -> Float[np.ndarray, " replicate"]:
    """(the first minus the second) minus (the third minus the fourth)."""
    return scores[:, 0] - scores[:, 1] - (scores[:, 2] - scores[:, 3])
