"""The binding problem: exact where it is algebra, right on planted states, refused in one line."""

from fractions import Fraction

import numpy as np
import pytest

from tprpapers.schlag.binding_problem import demonstrate, measure_degrees
from tprpapers.swaps.fractions import ask_pairs, binding_probe, choose
from tprprobe.errors import InputError

AMBIGUOUS = {
    ("standard", "equal weights"),
    ("tp", "constant roles"),
    ("tp", "roles equal where V(b − d) ≠ 0"),
    ("tp", "b − d in the kernel of V"),
}


# ---------------------------------------------------------------- the exact demonstration


def test_the_papers_claim_bit_for_bit():
    table = demonstrate(draws=200).set_index(["attention", "case"])
    assert len(table) == 9
    for case, row in table.iterrows():
        assert row["draws"] == 200
        if case == ("standard", "feed-forward between"):  # where no unit switches it is linear
            assert 0 < row["equal"] < 0.1
            continue
        assert row["equal"] == (1 if case in AMBIGUOUS else 0), case
        assert (row["largest_difference"] == 0) == (case in AMBIGUOUS)
    assert (table["formula"].dropna() == 1).all()
    assert table["formula"].isna().sum() == 1  # where a feed-forward layer stands between


@pytest.mark.parametrize("seed", [0, 1])
def test_roles_double_the_degree_and_frozen_attention_leaves_it(seed):
    degrees = measure_degrees(3, seed).set_index(["attention", "layer"])["degree"]
    assert degrees["standard"].tolist() == [1, 1, 1, 1]
    assert degrees["tp"].tolist() == [1, 2, 4, 8]


# ---------------------------------------------------------------- the questions and the probe


def test_pairs_hold_the_same_symbols_and_every_divisor_as_often():
    table = ask_pairs(1512)
    assert len(table) == table["question"].nunique() == 3024
    assert table["divisor"].value_counts().nunique() == 1
    for _, pair in table.groupby("pair"):
        row_of_pair, partner = pair.to_dict("records")
        assert sorted(row_of_pair["question"]) == sorted(partner["question"])
        divisors = [row_of_pair["divisor"], row_of_pair["other"]]
        assert divisors == [partner["other"], partner["divisor"]]
        assert row_of_pair["group"] == partner["group"]
    for row in table.sample(100, random_state=0).to_dict("records"):
        a, b, c, d = (int(symbol) for symbol in row["question"] if symbol.isdigit())
        assert Fraction(row["answer"]) == Fraction(a, b) / Fraction(c, d)
        assert (row["divisor"], row["other"]) == (b, d)
    assert len({question.index("(") for question in table["question"]}) > 3


def planted(table, bound, rng, noise=0.1):
    """States that hold both digits, and which of them divides a if ``bound``."""
    codes = rng.normal(size=(10, 16))
    b, d = codes[table["divisor"]], codes[table["other"]]
    states = np.concatenate([b, d], 1) if bound else np.tile(b + d, 2)
    states = states + noise * rng.normal(size=states.shape)
    return states @ rng.normal(size=(32, 32))


def test_probe_reads_what_is_bound_and_not_what_is_a_sum():
    table, rng = ask_pairs(400), np.random.default_rng(0)
    right = choose(planted(table, True, rng), table, seed=0)
    assert right.mean() == 1
    is_right = choose(planted(table, False, rng, noise=0), table, seed=0)
    assert is_right.mean() == pytest.approx(0.5)
    assert not (is_right.reshape(-1, 2) == 1).all(1).any()
    noise = choose(rng.normal(size=(800, 8)), table, seed=0).reshape(-1, 2)
    assert (noise == 1).mean() == pytest.approx(0.5, abs=0.07)
    assert (noise == 1).all(1).mean() == pytest.approx(0.25, abs=0.08)


def test_bad_input_is_one_line(make_model):
    for n in (0, 1513):
        with pytest.raises(InputError, match="there are 1512 pairs") as error:
            ask_pairs(n)
        assert "\n" not in str(error.value)
    model = make_model()
    model.vocabulary = None
    with pytest.raises(InputError, match="vocabulary is unknown"):
        binding_probe(model, 20)
