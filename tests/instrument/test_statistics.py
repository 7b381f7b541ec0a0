"""Intervals and tests: what theory says of them, and that they repeat."""

import doctest
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tprprobe import statistics
from tprprobe.errors import InputError
from tprprobe.statistics import (
    adjust,
    bootstrap,
    bootstrap_difference,
    bootstrap_mean,
    f1,
    group_sums,
    interval_text,
    permutations_within,
    read_interval,
    replicate_totals,
    sign_test,
    wilson,
)

SEEDS = st.integers(0, 2**31)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


def test_the_printed_examples():
    results = doctest.testmod(statistics)
    assert results.attempted == 1
    assert results.failed == 0


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6, "low": 0, "high": 1}, "50 % [40, 60]"),
        ({"f1": 0.5, "low": 0.25, "high": 0.75}, "50 % [25, 75]"),
        ({"f1": 0.5, "low": None, "high": None}, "50 %"),
        ({"f1": 0.5}, "50 %"),
        ({"f1": np.nan, "low": 0.0, "high": 1.0}, "–"),
    ],
)
def test_the_text_of_an_interval(row, text):
    for mapping in (row, pd.Series(row)):
        assert interval_text(read_interval(mapping, "f1"), ".0f", 100, " %") == text


@given(SEEDS, st.integers(1, 8))
def test_sums_over_groups_are_those_of_a_loop(seed, n_groups):
    rng = np.random.default_rng(seed)
    values, groups = rng.normal(size=(30, 2)), rng.choice(list("hgfedcba")[:n_groups], 30)
    expected = [values[groups == name].sum(0) for name in sorted(set(groups))]
    np.testing.assert_allclose(group_sums(values, groups), expected)


@given(SEEDS)
def test_replicates_are_totals_of_whole_groups_and_repeat_with_the_seed(seed):
    sums = np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    totals = replicate_totals(sums, 50, seed)
    assert (totals[:, 3] == 3).all()
    assert (totals[:, :3].sum(1) == 3).all()
    np.testing.assert_array_equal(totals, replicate_totals(sums, 50, seed))


def test_replicates_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    sums = np.random.default_rng(0).normal(size=(40, 3))
    at_once = replicate_totals(sums, 100, 5)
    monkeypatch.setattr(statistics, "WEIGHTS_AT_ONCE", 70)
    np.testing.assert_allclose(replicate_totals(sums, 100, 5), at_once)


@pytest.mark.parametrize("groups", [10, 80])
def test_the_interval_of_a_mean_of_many_groups_is_students(groups):
    values = np.random.default_rng(1).normal(5, 2, groups)
    interval = bootstrap_mean(values, np.arange(groups), replicates=20_000)
    low, high = stats.t.interval(0.95, groups - 1, values.mean(), stats.sem(values))
    assert interval.value == pytest.approx(values.mean())
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.15 * (high - low))
    assert interval.high - interval.low == pytest.approx(high - low, rel=0.05)


def test_items_of_a_group_are_not_independent():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 20)
    values = rng.normal(size=60)[groups]
    right, naive = bootstrap_mean(values, groups), bootstrap_mean(values, np.arange(len(values)))
    assert right.high - right.low > 3.5 * (naive.high - naive.low)


def test_a_single_group_has_no_interval_and_nothing_of_nothing_is_nan():
    single = bootstrap_mean(np.ones(5), np.zeros(5))
    assert single.value == 1
    assert np.isnan([single.low, single.high]).all()
    nothing = bootstrap(np.zeros((4, 3)), f1)
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_paired_systems_are_drawn_together():
    rng = np.random.default_rng(0)
    easy = rng.integers(5, 200, 40).astype(float)
    better = np.stack([easy + 1, 200 - easy, 200 - easy], 1)
    second = np.stack([easy, 200 - easy, 200 - easy], 1)
    difference = bootstrap_difference(better, second, f1)
    assert 0 < difference.low < difference.value < difference.high
    assert difference.p_value < 0.01
    unpaired = bootstrap(better, f1)
    assert difference.high - difference.low < 0.1 * (unpaired.high - unpaired.low)


def test_no_difference_has_no_small_p():
    sums = np.random.default_rng(0).integers(1, 9, (30, 3)).astype(float)
    assert bootstrap_difference(sums, sums, f1).p_value == 1


def test_intervals_hold_the_truth_as_often_as_they_say(root: Path):
    benchmark = runpy.run_path(str(root / "benchmarks" / "coverage.py"))
    for case in benchmark["CASES"][1:3]:
        assert 0.91 <= benchmark["coverage"](case, 40, 200) <= 0.985


@pytest.mark.parametrize(("n", "p"), [(10, 0.01), (10, 0.1), (30, 0.03), (100, 0.01)])
def test_where_no_document_errs_the_truth_is_covered_all_the_same(n, p):
    """Documents are all right or, rarely, all wrong: of so few often none is, and a bootstrap has no width."""
    rng, n_covered, n_border = np.random.default_rng(0), 0, 0
    for _ in range(200):
        size, is_wrong = rng.integers(5, 30, n), rng.random(n) < p
        right = np.repeat(~is_wrong, size).astype(float)
        share = bootstrap_mean(right, np.repeat(np.arange(n), size), lowest=0, replicates=500)
        n_covered += share.low <= 1 - p <= share.high
        n_border += right.all()
    assert n_border > 60
    assert n_covered >= 190  # 95 %


def test_shares_at_a_border_have_the_exact_interval():
    interval = stats.binomtest(0, 12).proportion_ci(method="exact")
    zero, one = (bootstrap_mean(np.full(12, x), np.arange(12), lowest=0) for x in (0.0, 1.0))
    assert (zero.low, zero.high) == pytest.approx((interval.low, interval.high))
    assert (one.low, one.high) == pytest.approx((1 - interval.high, 1))
    equal = bootstrap_mean(np.zeros(12), np.arange(12), lowest=-1)
    assert (equal.low, equal.high) == pytest.approx((-interval.high, interval.high))
    constant = bootstrap_mean(np.full(12, 0.5), np.arange(12), lowest=0)
    assert (constant.low, constant.high) == (0.5, 0.5)
    assert np.isnan(statistics.widen_at_border(np.full((2, 1), np.nan), np.array([0]))).all()


@given(st.integers(0, 40), st.integers(1, 40))
def test_wilsons_interval_solves_its_equation(successes, n):
    successes = min(successes, n)
    interval = wilson(successes, n)
    low, high = interval.low, interval.high
    assert interval.value == successes / n
    assert 0 <= low <= successes / n <= high <= 1
    z = stats.norm.ppf(0.975)
    for bound in {low, high} - {0.0, 1.0}:
        deviation = abs(successes / n - bound)
        assert deviation == pytest.approx(z * np.sqrt(bound * (1 - bound) / n), abs=1e-9)


def test_sign_tests_by_hand():
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(0, 0) == 1


@given(SEEDS, st.integers(1, 6))
def test_permutations_keep_strata_and_lose_nothing(seed, n_strata):
    rng = np.random.default_rng(seed)
    strata = rng.choice(list("fedcba")[:n_strata], 25)
    for order in permutations_within(strata, 3, rng):
        assert sorted(order) == list(range(25))
        assert (strata[order] == strata).all()


def step_down(p_values: np.ndarray, level: float) -> set[int]:
    """Holm's procedure as it is told: reject the smallest at level/m, the next at level/(m−1), …"""
    rejected, n_left = set(), len(p_values)
    for index in np.argsort(p_values, kind="stable"):
        if p_values[index] * n_left > level:
            break
        rejected.add(int(index))
        n_left -= 1
    return rejected


@given(P_VALUES, st.floats(0.01, 0.99))
def test_adjusted_p_values_reject_what_holms_procedure_rejects(p_values, level):
    assert set(np.flatnonzero(adjust(p_values, "holm") <= level)) == step_down(p_values, level)


@given(P_VALUES, st.floats(0.01, 0.99))
def test_the_false_discovery_rate_rejects_all_up_to_the_last_below_the_line(p_values, level):
    ordered = np.sort(p_values)
    below = ordered * (len(ordered) / np.arange(1, len(ordered) + 1)) <= level
    largest = ordered[below].max(initial=-1)
    assert np.array_equal(adjust(p_values) <= level, p_values <= largest)


def test_an_unknown_correction_is_refused():
    with pytest.raises(InputError, match="holm"):
        adjust(np.array([0.1]), "hol")


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.random.default_rng(0).normal(size=12)
    without_one = [np.delete(values, i).mean() for i in range(12)]
    interval = statistics.jackknife(np.array([values.mean(), *without_one]))
    expected = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert np.isnan(statistics.jackknife(np.zeros(10)).low)
    assert np.isnan(statistics.jackknife(np.zeros(4), 3).low)
