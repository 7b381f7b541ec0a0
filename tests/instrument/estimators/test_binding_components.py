"""Shares of variance: bags do not bind however they are pooled, planted bindings get their share."""

import re
from pydoc_data.topics import topics

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.binding.effects import plant
from benchmarks.binding.nulls import draw_null, draw_sequences
from benchmarks.binding.shares import counts_of
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.block_moments import limit
from tprprobe.estimators.bindings.components import BINDINGS, FILLERS, STEPS, BindingComponents
from tprprobe.estimators.bindings.pair_counts import PairCounts, cooccur, subtract_expected
from tprprobe.statistics import Interval

SHARE, DRAWS = 0.02, 8


def measure(counts, states):
    return BindingComponents(steps=[BINDINGS]).fit(counts, states).bindings_


@pytest.mark.parametrize("null", ["mean", "LayerNorm", "maximum", "hash"])
def test_a_function_of_the_bag_has_no_bindings(null):
    claims = 0
    for seed in range(4):
        rng = np.random.default_rng((seed, 5))
        sequences = draw_sequences(rng, 400, 30)
        states = draw_null(null, rng, sequences, 30, 16)
        claims += measure(counts_of(sequences), states).low > 0
    assert claims <= 1


def sort_words(sequences, noise):
    """Words that prefer places: of two neighbors, the lesser stands first more often than not."""
    rng = np.random.default_rng(3)
    return [words[np.argsort(words + rng.normal(0, noise, len(words)))] for words in sequences]


def test_fillers_that_prefer_roles_do_not_bind():
    claims = 0
    for seed in range(6):
        rng = np.random.default_rng((seed, 8))
        sequences = sort_words(draw_sequences(rng, 400, 30, longest=8), 8)
        states = draw_null("bag × length", rng, sequences, 30, 16)
        claims += measure(counts_of(sequences), states).low > 0
    assert claims <= 1


def test_what_is_expected_of_order_has_the_bags_and_preferences():
    sequences = draw_sequences(np.random.default_rng(2), 300, 8, longest=6)
    counts, preferred = counts_of(sequences), counts_of(sort_words(sequences, 1))
    residual, unseen = subtract_expected(counts)
    assert unseen == 0
    np.testing.assert_allclose(residual @ np.eye(8)[counts.filler_of], 0, atol=1e-6)
    np.testing.assert_allclose(residual @ np.eye(6)[counts.role_of], 0, atol=1e-6)
    assert subtract_expected(preferred)[0].power(2).sum() < 0.8 * residual.power(2).sum()


def test_words_of_one_sequence_are_expected_at_its_other_places():
    sequences = [np.array([3 * i, 3 * i + 1, 3 * i + 2]) for i in range(4)]
    residual, unseen = subtract_expected(counts_of(sequences))
    assert residual.power(2).sum() == pytest.approx(12 * (2 / 3) ** 2)
    assert unseen == pytest.approx(24 * (1 / 3) ** 2)


def test_planted_bindings_get_their_share():
    estimates = []
    for seed in range(DRAWS):
        rng = np.random.default_rng((seed, 6))
        sequences = draw_sequences(rng, 400, 8, zipf=False)
        states, counts = plant(rng, sequences, 8, False, SHARE), counts_of(sequences)
        estimates.append(measure(counts, states))
    assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(SHARE, abs=0.005)
    assert sum(estimate.low <= SHARE <= estimate.high for estimate in estimates) >= DRAWS - 2


def test_bindings_of_letters_that_prefer_places_get_their_share():
    words = sorted(set(re.findall(r"\b[a-z]{2,14}\b", " ".join(topics.values()))))
    counts = PairCounts.from_bindings([list(zip(word, range(14), strict=False)) for word in words])
    rng = np.random.default_rng(1)
    vectors, letters = rng.normal(size=(303, 16)), rng.normal(size=(26, 16))
    states = counts.pairs @ vectors + counts.fillers @ letters
    bound = subtract_expected(counts)[0] @ vectors
    share = (bound**2).sum() / ((states - states.mean(0)) ** 2).sum()
    estimate = measure(counts, states)
    assert estimate.value == pytest.approx(share, rel=0.07)
    assert estimate.low < share < estimate.high


def measure_words(n, n_words, **options):
    """Intervals of the fillers' share of sums of words, and how many words stand in a single sequence."""
    intervals, n_single = [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng((seed, 9))
        bags = counts_of(draw_sequences(rng, n, n_words, **options))
        states = bags.fillers @ rng.normal(size=(bags.fillers.shape[1], 32))
        intervals.append(BindingComponents(steps=[FILLERS]).fit(bags, states).shares_[FILLERS])
        n_single.append(np.mean(np.bincount(bags.fillers.indices) == 1))
    return intervals, np.mean(n_single)


def test_sums_of_words_are_all_words_though_most_words_stand_in_one_sequence():
    intervals, single = measure_words(130, 3000, longest=12)
    assert single > 0.6
    assert np.mean([share.value for share in intervals]) == pytest.approx(1, abs=0.05)
    assert sum(share.low <= 1 <= share.high for share in intervals) >= DRAWS - 1


@pytest.mark.parametrize("length", [0, 1.3])
def test_words_of_one_sequence_may_add_nothing_or_more_than_others(length):
    for seed in range(DRAWS):
        rng = np.random.default_rng((seed, 9))
        bags = counts_of(draw_sequences(rng, 130, 3000, longest=12))
        vectors = rng.normal(size=(bags.fillers.shape[1], 32))
        vectors[np.bincount(bags.fillers.indices) == 1] *= length
        share = (
            BindingComponents(steps=[FILLERS]).fit(bags, bags.fillers @ vectors).shares_[FILLERS]
        )
        assert share.low <= 1 == share.high


def test_shares_add_up_to_one_at_most():
    rng = np.random.default_rng(3)
    counts = counts_of(draw_sequences(rng, 130, 3000, longest=12))
    vectors = rng.normal(size=(counts.fillers.shape[1], 32))
    vectors[np.bincount(counts.fillers.indices) == 1] = 0
    states = counts.fillers @ vectors
    states += 0.3 * counts.pairs @ rng.normal(size=(counts.pairs.shape[1], 32))
    shares = BindingComponents().fit(counts, states).shares_
    alone = BindingComponents(steps=[FILLERS]).fit(counts, states).shares_[FILLERS]
    assert alone.value + sum(max(0, shares[step].value) for step in STEPS[1:]) > 1
    assert sum(max(0, share.value) for share in shares.values()) == pytest.approx(1)


def test_an_estimate_beyond_the_whole_errs_by_its_excess():
    assert limit(Interval(1.5, 0.97, 1.0), 1.0) == Interval(1.0, pytest.approx(0.47), 1.0)
    assert limit(Interval(0.8, 0.6, 1.0), 1.0) == Interval(0.8, 0.6, 1.0)


def test_sums_of_frequent_words_are_all_words_exactly():
    intervals, _ = measure_words(300, 6)
    np.testing.assert_allclose([share.value for share in intervals], 1, atol=2e-3)


def test_a_second_fit_is_that_of_a_new_estimator():
    rng = np.random.default_rng(4)
    states, estimator = rng.normal(size=(400, 8)), BindingComponents(steps=[BINDINGS])
    for counts in map(counts_of, (draw_sequences(rng, 400, 8), draw_sequences(rng, 400, 8))):
        for vectors in (states, states + counts.fillers @ rng.normal(size=(8, 8))):
            assert estimator.fit(counts, vectors).bindings_ == measure(counts, vectors)
    estimator.random_state = 1
    assert estimator.fit(counts, vectors).bindings_ != measure(counts, vectors)


def test_too_few_groups_are_refused():
    sequences = [np.arange(3)] * 60
    with pytest.raises(InputError, match="independent groups"):
        BindingComponents().fit(counts_of(sequences), np.ones((60, 4)), np.arange(60) // 20)


def test_a_share_does_not_depend_on_the_scale_of_counts():
    rng = np.random.default_rng(4)
    sequences = [rng.integers(30, size=4) for _ in range(300)]
    states, counts = plant(rng, sequences, 30, True, 0.2), counts_of(sequences)
    quarters = PairCounts(csr_array(counts.pairs / 4), counts.filler_of, counts.role_of, counts.lengths)  # fmt: skip
    assert measure(quarters, states) == pytest.approx(measure(counts, states), abs=0.01)


def test_pairs_of_fillers_that_occur_together():
    bag = csr_array(np.array([[1, 1, 0], [2, 1, 1], [0, 1, 1], [1, 0, 0]]))
    np.testing.assert_array_equal(cooccur(bag).toarray(), [[1, 0], [1, 1], [0, 1], [0, 0]])
