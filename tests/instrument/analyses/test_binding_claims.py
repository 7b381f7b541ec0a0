"""Binding is claimed beside its control: bags of words do not bind, however they are pooled; planted bindings do."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import tprprobe as tp
from tprprobe.analyses.decomposition import binds, summarize
from tprprobe.analyses.decomposition.binding_claims import describe_binding
from tprprobe.analyses.decomposition.variance_shares import compare_shares

WORDS, WIDTH, LONGEST, TEXTS = 8, 8, 7, 240


def states_of(kind: str, sequences: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """The vectors of sequences: functions of which words occur, or sums of bindings."""
    word = rng.normal(size=(WORDS, WIDTH))
    pair = rng.normal(size=(WORDS, LONGEST, WIDTH))
    bags = np.array([word[words].sum(0) for words in sequences])
    if kind == "mean":
        return bags / np.array([[len(words)] for words in sequences])
    if kind == "layer norm":
        return (bags - bags.mean(1, keepdims=True)) / bags.std(1, keepdims=True)
    return bags + np.array([pair[words, np.arange(len(words))].sum(0) for words in sequences]) / 2


@pytest.fixture(scope="module")
def scores_of(tmp_path_factory):
    """The scores of a kind of states, fitted once."""
    return cache(lambda kind, seed: score(tmp_path_factory.mktemp("states"), kind, seed))


def score(folder, kind: str, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(WORDS, size=rng.integers(2, LONGEST + 1)) for _ in range(TEXTS)]
    rows = [(i, j, str(word)) for i, words in enumerate(sequences) for j, word in enumerate(words)]
    np.savez(folder / "states.npz", state=states_of(kind, sequences, rng))
    table = pd.DataFrame(rows, columns=["sample", "position", "token"])
    table.to_csv(folder / "states.csv", index=False)
    store = tp.import_store(folder / "states.npz", folder / "store")
    return tp.decompose(store, "state", "left", rank=2, seed=seed).scores


@pytest.mark.parametrize(
    ("kind", "seed", "is_bound"),
    [
        pytest.param(kind, seed, kind == "bindings", marks=[pytest.mark.soak] * (seed > 0))
        for kind in ("mean", "layer norm", "bindings")
        for seed in range(3)
    ],
)
def test_the_claim_stands_beside_its_control(scores_of, kind, seed, is_bound):
    """Rates are the benchmark's."""
    scores = scores_of(kind, seed)
    [row] = scores[(scores["control"] == "") & (scores["family"] == "factored")].to_dict("records")
    [control] = scores[
        (scores["control"] == "shuffled roles") & (scores["family"] == "factored")
    ].to_dict("records")
    assert binds(row) == is_bound
    assert row["beyond"] == pytest.approx(row["gain"] - control["gain"])
    assert any("Binds fillers" in line for line in summarize(scores)) == is_bound


def test_learning_is_claimed_beyond_three_baseline_models():
    """Models that are drawn alike are called learned in 2.5 % of draws."""
    rng, claims = np.random.default_rng(1), 0
    for _ in range(400):
        row_of = dict(
            zip(("", "a", "b", "c"), ({"share": x} for x in rng.normal(0.3, 0.1, 4)), strict=True)
        )
        compare_shares(row_of, ["a", "b", "c"])
        claims += row_of[""]["share_learned_low"] > 0
    assert 2 <= claims <= 20
    row = {
        "": {"roles": "left", "share": 0.3, "share_low": 0.2, "share_high": 0.4},
        "a": {"share": 0.1},
    }
    compare_shares(row, ["a"])
    scores = dict.fromkeys(
        ("gain", "gain_low", "gain_high", "beyond", "beyond_low", "beyond_high"), 0.0
    )
    assert "without an interval, which needs 3" in describe_binding(row[""] | scores)


@pytest.mark.parametrize(
    ("columns", "is_bound"),
    [
        ({"share_low": 0.01, "gain_low": -1.0}, True),
        ({"share_low": 0.01, "share_shuffled": 0.02, "share_shuffled_low": 0.01}, False),
        ({"share_low": 0.01, "share_shuffled": 0.02, "share_shuffled_low": -0.01}, True),
        ({"share_low": -0.01, "gain_low": 1.0, "beyond_low": 1.0}, False),
        ({"gain_low": 0.1, "beyond_low": 0.1}, True),
        ({"gain_low": 0.1, "beyond_low": -0.1}, False),
    ],
)
def test_the_share_decides_where_there_is_one(columns, is_bound):
    assert binds(columns) == is_bound


def test_scores_are_the_same_with_any_number_of_threads(scores_of, tmp_path):
    with threadpool_limits(2):
        scores = score(tmp_path, "bindings", 0)
    pd.testing.assert_frame_equal(scores, scores_of("bindings", 0), check_exact=True)
