"""Intervals of means and differences that pages and studies share."""

from typing import Any

import numpy as np
from scipy import stats

from tprprobe.statistics import Interval


def student_mean(values: Any) -> Interval:
    """The mean with Student's 95 % interval; of one value the bounds are NaN."""
    value, freedom = float(np.mean(values)), len(values) - 1
    if freedom < 1:
        return Interval(value, np.nan, np.nan)
    error = np.std(values, ddof=1) / np.sqrt(freedom + 1)
    half = float(stats.t.ppf(0.975, freedom) * error)
    return Interval(value, value - half, value + half, float(freedom))


def minus(minuend: Interval, subtrahend: Interval) -> Interval:
    """The difference, with an interval that is right however the two depend on each other."""
    value = minuend.value - subtrahend.value
    below = (minuend.value - minuend.low) + (subtrahend.high - subtrahend.value)
    above = (minuend.high - minuend.value) + (subtrahend.value - subtrahend.low)
    return Interval(value, value - below, value + above)


def minus_independent(minuend: Interval, subtrahend: Interval) -> Interval:
    """The difference of two estimates from different data: half-widths are added in squares."""
    value = minuend.value - subtrahend.value
    half = float(np.hypot(minuend.high - minuend.low, subtrahend.high - subtrahend.low)) / 2
    return Interval(value, value - half, value + half)
