"""Intervals over groups, and paired differences of two estimators on the same groups."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from tprprobe.evaluation.metrics import Statistic, Sums
from tprprobe.statistics import (
    FEWEST_GROUPS,
    Interval,
    bootstrap,
    bootstrap_difference,
    jackknife,
    widen_at_border,
)

REPLICATES = 1000
LEVEL = 0.05  # of a corrected test by which a score is beyond a control
BLOCKS = 20  # of groups, of which a jackknife leaves out one after another
NO_INTERVAL = "no interval"  # how notes begin, where a number lacks its own
# Of all groups, then without a block of them after another.
Scores = Float[np.ndarray, " subset"]
FEW_GROUPS = f"{NO_INTERVAL}: fewer than {FEWEST_GROUPS} groups"


@dataclass(frozen=True)
class Comparison:
    """The difference of two estimators on the groups that both were tested on, and p that there is none."""

    difference: Interval
    p: float
    n_groups: int
    reference: float  # the score of the second


def interval_of(sums: Sums, statistic: Statistic) -> Interval:
    """A share of the totals of groups, such as F1, with its 95 % interval; NaN for too few groups."""
    return bootstrap(sums, statistic, REPLICATES, lowest=0)


def compare(sums: Sums, reference: Sums, statistic: Statistic) -> Comparison:
    """The first minus the reference on the same groups, drawn together; p of the t test of difference / error, which has the
    resolution that a correction needs. The bootstrap's variance is too small by (n − 1)/n (Hesterberg 2015).
    """
    interval = bootstrap_difference(sums, reference, statistic, replicates=REPLICATES, lowest=-1)
    error = np.nanstd(interval.replicates) * np.sqrt(len(sums) / max(1, len(sums) - 1))
    p = t_test(interval.value, float(error), len(sums))
    score = float(statistic(reference.sum(0, keepdims=True))[0])
    return Comparison(interval, p, len(sums), score)


def t_test(difference: float, error: float, n_groups: int) -> float:
    """Two-sided p of a difference with a standard error over groups."""
    if n_groups < 2 or not np.isfinite([difference, error]).all():
        return 1.0
    if error == 0:
        return float(difference == 0)
    return float(2 * stats.t.sf(abs(difference) / error, n_groups - 1))


def compare_blocks(scores: Scores, reference: Scores, n_groups: int) -> Comparison:
    """The first minus the reference."""
    difference = scores - reference
    n_blocks = len(difference) - 1
    error = np.sqrt((n_blocks - 1) * np.var(difference[1:])) if n_blocks > 1 else np.nan
    interval = jackknife(difference, n_groups)
    p = t_test(interval.value, float(error), n_blocks)
    return Comparison(interval, p, n_groups, float(reference[0]))


def interval_by_blocks(
    sums: Float[np.ndarray, "block *count"],
    statistic: Callable[[Float[np.ndarray, "*count"]], float],
    n_groups: int,
) -> Interval:
    """A share of totals over blocks of so many groups, with its 95 % interval by leaving out one block after another."""
    total = sums.sum(0)
    occupied = sums[sums.reshape(len(sums), -1).any(1)]
    values = np.array([statistic(total), *map(statistic, total - occupied)])
    interval = jackknife(values, n_groups)
    low, high = widen_at_border(np.array([interval.low, interval.high]), n_groups)
    return Interval(interval.value, float(low), float(high))


def draw_blocks(n_groups: int) -> Int[np.ndarray, " group"]:
    """The block of every group, drawn at random."""
    return np.random.default_rng(0).permutation(n_groups) % min(BLOCKS, n_groups)
