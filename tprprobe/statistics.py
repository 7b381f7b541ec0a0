"""Intervals and tests for grouped data: questions, documents or images are drawn, not their parts.

Tokens of one question are no independent observations. So whatever a table holds is a function of
totals over groups, and the bootstrap draws groups: a replicate costs one product with their sums.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which imports its rooms when they are used
from jaxtyping import Float, Int, Shaped

from tprprobe.errors import unknown

Sums = Float[np.ndarray, "group term"]
Totals = Float[np.ndarray, "replicate term"]
Row = Mapping[Any, Any] | pd.Series  # of a table
Statistic = Callable[[Totals], Float[np.ndarray, " replicate"]]

FEWEST_GROUPS = 10  # that an interval is given for; see bounds
REPLICATES = 2000
WEIGHTS_AT_ONCE = 2**22


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval, which is NaN where there are too few groups (FEWEST_GROUPS).

    What is behind it: the replicates of a bootstrap, or the degrees of freedom of Student's t.
    """

    value: float
    low: float
    high: float
    df: float = math.inf
    replicates: Float[np.ndarray, " replicate"] = field(
        default_factory=lambda: np.empty(0), repr=False, compare=False
    )

    @property
    def p_value(self) -> float:
        """Two-sided p that the true value is 0: 2 min(P(value* ≤ 0), P(value* ≥ 0))."""
        below, above = np.sum(self.replicates <= 0), np.sum(self.replicates >= 0)
        return float(min(1.0, 2 * (1 + min(below, above)) / (1 + len(self.replicates))))

    def columns(self, name: str) -> dict[str, float]:
        """The columns of a table: ``name``, ``name_low`` and ``name_high``."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def read_interval(row: Row, name: str = "value") -> Interval:
    """The interval of a row: ``name``, ``name_low``, ``name_high``; else ``low``, ``high``, or NaN."""
    prefix = f"{name}_" if f"{name}_low" in row else ""
    ends = (row[name], row.get(f"{prefix}low"), row.get(f"{prefix}high"))
    value, low, high = (math.nan if number is None else float(number) for number in ends)
    return Interval(value, low, high)


def measured(rows: pd.DataFrame, name: str, /, **columns: Any) -> pd.DataFrame:
    """The rows with a measure and its interval as value, low and high, as scenes take them, and further columns."""
    ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
    free = rows.drop(columns={*ends.values()} - ends.keys(), errors="ignore")
    return free.rename(columns=ends).assign(**columns)


def interval_text(interval: Interval, form: str = ".3f", scale: float = 1, unit: str = "") -> str:
    """``value [low, high]``; without an interval the value alone, without a value a dash.

    >>> interval_text(Interval(0.25, 0.2, 0.3), ".1%")
    '25.0% [20.0%, 30.0%]'
    """
    if math.isnan(interval.value):
        return "–"
    ends = (interval.value, interval.low, interval.high)
    value, low, high = (f"{scale * number:{form}}" for number in ends)
    return value + unit if math.isnan(interval.low) else f"{value}{unit} [{low}, {high}]"


def write_interval(
    row: Row, name: str = "value", form: str = ".3f", scale: float = 1, unit: str = ""
) -> str:
    """The interval of a row as a text."""
    return interval_text(read_interval(row, name), form, scale, unit)


def group_sums(values: Float[np.ndarray, "item term"], groups: Shaped[np.ndarray, " item"]) -> Sums:
    """Sums over the items of every group, in the order of the groups' names."""
    index = np.unique(groups, return_inverse=True)[1]
    return np.stack([np.bincount(index, term) for term in values.T.astype(float)], axis=1)


def replicate_totals(
    sums: Sums, replicates: int = REPLICATES, seed: int = 0
) -> Float[np.ndarray, "replicate term"]:
    """Totals over groups that are drawn with replacement, as many as there are groups."""
    n = len(sums)
    if replicates * n <= WEIGHTS_AT_ONCE:
        return _drawn_once(n, replicates, seed) @ sums
    rng = np.random.default_rng(seed)
    totals = np.empty((replicates, sums.shape[1]))
    for start in range(0, replicates, step := max(1, WEIGHTS_AT_ONCE // n)):
        rows = min(step, replicates - start)
        totals[start : start + rows] = _draw(rng, n, rows) @ sums
    return totals


@lru_cache(2)
def _drawn_once(n: int, replicates: int, seed: int) -> Float[np.ndarray, "replicate group"]:
    """How often each of n groups is drawn, the same for all sums that are compared."""
    return _draw(np.random.default_rng(seed), n, replicates).astype(float)


def _draw(rng: np.random.Generator, n: int, rows: int) -> Int[np.ndarray, "replicate group"]:
    indices = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
    return np.bincount(indices.ravel(), minlength=rows * n).reshape(rows, n)


def bounds(
    replicates: Float[np.ndarray, "replicate *statistic"],
    n_groups: int,
    lowest: float | None = None,
) -> Float[np.ndarray, "2 *statistic"]:
    """The 95 % percentile interval of replicates, widened for few groups; NaN for fewer than FEWEST_GROUPS.

    ``lowest`` is 0 for shares and −1 for differences of shares, whose intervals have a width at their borders, too
    (:func:`widen_at_border`); None for what has no borders.

    Shares that differ by group (Beta(6, 4), lognormal sizes) are covered in 73 to 79 % of the draws with three groups, 88
    to 92 % with five, 94 % with ten.

    Source: Hesterberg 2015, the expanded percentile interval: for n groups the quantiles at
    Φ(±√(n/(n−1)) t_{n−1}), as the bootstrap's variance is too small by (n−1)/n and an estimate.
    """
    if n_groups < FEWEST_GROUPS:
        return np.full((2, *replicates.shape[1:]), np.nan)
    levels = [_tail(n_groups), 1 - _tail(n_groups)]
    rows = pd.DataFrame(replicates.reshape(len(replicates), -1))
    ends = rows.quantile(levels).to_numpy().reshape(2, *replicates.shape[1:])
    return ends if lowest is None else widen_at_border(ends, n_groups, lowest)


@lru_cache
def _tail(n_groups: int) -> float:
    t = scipy.stats.t.ppf(0.975, n_groups - 1)
    return float(scipy.stats.norm.cdf(-np.sqrt(n_groups / (n_groups - 1)) * t))


def widen_at_border(
    bounds: Float[np.ndarray, "2 *statistic"], n_groups: Any, lowest: float = 0.0
) -> Float[np.ndarray, "2 *statistic"]:
    """The interval of shares, or with ``lowest`` −1 of their differences; one without width at a border gets that of n groups none of which errs.

    No replicate of groups that are all right (all wrong, all equal) differs from them, however few they are. With 95 % confidence
    a further group is like them with a probability of at least 0.025^(1/n), and the worst that another can do is to be all wrong.

    Source: Clopper and Pearson 1934, the exact interval of 0 of n.
    """
    low, high = np.round(bounds, 6)  # of sums of weights, which are 1 but for rounding
    is_at_border = (low == high) & np.isin(low, (lowest, 0, 1))
    low, high = np.where(is_at_border, (low, high), bounds)
    reach = np.where(is_at_border, 1 - 0.025 ** (1 / np.maximum(n_groups, 1)), 0)
    return np.stack([np.maximum(low - reach, lowest), np.minimum(high + reach, 1)])


def interval_of_replicates(
    values: Float[np.ndarray, " value_and_replicate"], n_groups: int, lowest: float | None = None
) -> Interval:
    """A value with its interval over so many groups (see :func:`bounds`); its replicates stand behind it."""
    low, high = bounds(values[1:], n_groups, lowest)
    return Interval(float(values[0]), float(low), float(high), replicates=values[1:])


def bootstrap(
    sums: Sums,
    statistic: Statistic,
    replicates: int = REPLICATES,
    seed: int = 0,
    lowest: float | None = None,
) -> Interval:
    """A statistic of totals over groups, with its interval by drawing groups; ``lowest`` as in :func:`bounds`."""
    totals = (sums.sum(0, keepdims=True), replicate_totals(sums, replicates, seed))
    return interval_of_replicates(np.concatenate([*map(statistic, totals)]), len(sums), lowest)


def jackknife(
    values: Float[np.ndarray, " value_and_part"], n_groups: int | None = None
) -> Interval:
    """A value, the first, with its interval by those of all groups but one part of them at a time; a part is a group, or several.

    For what is not linear in counts, such as mutual information: a bootstrap draws groups twice, which alone raises that.

    Source: Efron and Stein 1981: value ± t √((m − 1)/m Σ (vᵢ − v̄)²) of m parts.
    """
    value, leave_outs = float(values[0]), values[1:]
    if (n_groups or len(leave_outs)) < FEWEST_GROUPS or len(leave_outs) < 2:
        return Interval(value, math.nan, math.nan)
    error = math.sqrt((len(leave_outs) - 1) * float(np.var(leave_outs)))
    reach = float(scipy.stats.t.ppf(0.975, len(leave_outs) - 1)) * error
    return Interval(value, value - reach, value + reach, len(leave_outs) - 1)


def bootstrap_ratio(
    numerators: Float[np.ndarray, " group"],
    denominators: Float[np.ndarray, " group"],
    **options: Any,
) -> Interval:
    """Σ numerators / Σ denominators, both summed over the items of every group before."""
    return bootstrap(np.stack([numerators, denominators], 1), lambda t: divide(*t.T), **options)


def bootstrap_mean(
    values: Shaped[np.ndarray, " item"], groups: Shaped[np.ndarray, " item"], **options: Any
) -> Interval:
    """The mean over all items; a group counts as often as it has items. That of true and false is a share (``lowest`` 0)."""
    if values.dtype == bool:
        options.setdefault("lowest", 0)
    sums = group_sums(np.stack([values, np.ones(len(values))], 1), groups)
    return bootstrap_ratio(*sums.T, **options)


def bootstrap_difference(
    sums: Sums, other_sums: Sums, statistic: Statistic, **options: Any
) -> Interval:
    """statistic(sums) − statistic(other_sums) of two systems on the same groups: a paired bootstrap."""
    width = sums.shape[1]
    paired = np.concatenate([sums, other_sums], 1)
    return bootstrap(
        paired,
        lambda totals: statistic(totals[:, :width]) - statistic(totals[:, width:]),
        **options,
    )


def f1(totals: Totals) -> Float[np.ndarray, " replicate"]:
    """2 TP / (2 TP + FP + FN) of totals (TP, FP, FN): micro-F1."""
    hit, false, missed = totals.T
    return divide(2 * hit, 2 * hit + false + missed)


def divide(
    numerator: Float[np.ndarray, "*shape"], denominator: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The quotient, NaN where the denominator is 0."""
    none = np.full(np.shape(denominator), np.nan)
    return np.divide(numerator, denominator, out=none, where=denominator != 0)


def wilson(successes: int, n: int) -> Interval:
    """The proportion of n independent trials, with Wilson's 95 % interval; NaN for no trials."""
    if not n:
        return Interval(math.nan, math.nan, math.nan)
    z2, p = 1.959963984540054**2, successes / n
    middle, half = p + z2 / (2 * n), math.sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n)
    low, high = ((middle + sign * half) / (1 + z2 / n) for sign in (-1, 1))
    return Interval(p, min(max(low, 0.0), p), max(min(high, 1.0), p))  # rounding stays outside


def sign_test(wins: int, losses: int) -> float:
    """Two-sided p of so many wins and losses if both are equally likely; ties are left out.

    With the two discordant counts of paired decisions it is McNemar's exact test.
    """
    return float(scipy.stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def permute_within(
    strata: Shaped[np.ndarray, " item"], rng: np.random.Generator
) -> Int[np.ndarray, " item"]:
    """A random order of the items (values[order]) that keeps every item's stratum."""
    return next(permutations_within(strata, 1, rng))


def permutations_within(
    strata: Shaped[np.ndarray, " item"], n: int, rng: np.random.Generator
) -> Iterator[Int[np.ndarray, " item"]]:
    """n random orders as of :func:`permute_within`; strata are sorted only once."""
    index = np.unique(strata, return_inverse=True)[1]
    grouped = np.argsort(index, kind="stable")
    order = np.empty(len(index), int)
    for _ in range(n):
        order[grouped] = grouped[np.argsort(index[grouped] + rng.random(len(index)))]
        yield order.copy()


def adjust(p_values: Float[np.ndarray, " test"], method: str = "bh") -> Float[np.ndarray, " test"]:
    """p-values corrected for many tests: bh or by (false discovery rate), holm (any false positive)."""
    if method in ("bh", "by"):
        return scipy.stats.false_discovery_control(p_values, method=method)
    if method != "holm":
        raise unknown("correction", method, ("bh", "by", "holm"))
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, stepped)
    return adjusted
