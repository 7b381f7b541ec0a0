"""Swaps of numbers: what they predict, and what they do to a model whose roles have known use."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted.roles import PlantedRoles

from tprpapers.swaps.digit_vectors import read_digits
from tprpapers.swaps.donor_roles import DONORS, measure_donors
from tprpapers.swaps.effect_intervals import (
    compare_places,
    find_answered,
)
from tprpapers.swaps.exchanges import (
    ALIKE,
    ELSEWHERE,
    Exchange,
    has_positions,
    measure_swaps,
    positions,
)
from tprpapers.swaps.number_pairs import CHANGING, HARMLESS, KINDS, exchange_symbols, find_swaps
from tprprobe.gold import arithmetic, evaluate

QUESTIONS = [
    "Calculate 2/6 - (-66)/18.",
    "What is (-14)/(-21)*(-3)/2?",
    "Evaluate (1 - 3)*(-5)/2.",
    "2 + 4 - (-2)/(-2)",
    "Calculate 8/(-12)*6/10.",
    "Evaluate (10/(-35))/(1/(-2)).",
    "What is 24/6*(1 - 2)?",
]


@pytest.mark.parametrize("seed", range(3))
def test_a_swap_predicts_what_exact_arithmetic_says(seed):
    swaps = find_swaps(QUESTIONS, seed=seed)
    assert set(swaps["kind"]) == set(KINDS)
    for row in swaps.to_dict("records"):
        assert row["text"] == QUESTIONS[row["question"]]
        assert exchange_symbols(row["counterfactual"], row["first"], row["second"]) == row["text"]
        assert row["answer"] == str(evaluate(row["text"]))
        assert row["predicted"] == str(evaluate(row["counterfactual"]))
        assert (row["answer"] == row["predicted"]) == (row["kind"] in HARMLESS)
        assert sorted(row["text"]) == sorted(row["counterfactual"])
    repeated = find_swaps(QUESTIONS, seed=seed)
    pd.testing.assert_frame_equal(swaps, repeated)


def test_pairs_are_what_their_kind_says():
    for row in find_swaps(QUESTIONS).to_dict("records"):
        gold = arithmetic(row["text"])
        digits, partner_digits = (gold.iloc[list(row[side])] for side in ("first", "second"))
        assert len(digits) == len(partner_digits)
        is_same = digits["polarity"].iloc[0] == partner_digits["polarity"].iloc[0]
        if "polarity" in row["kind"]:
            assert digits["term"].iloc[0] == partner_digits["term"].iloc[0]
            assert is_same == (row["kind"] == "same polarity")
        elif row["kind"] == "place":
            assert (digits["place"].iloc[0], partner_digits["place"].iloc[0]) == (0, 1)
            assert digits["number"].iloc[0] == partner_digits["number"].iloc[0]
        else:
            sign = {"argument": "-", "sum": "+"}[row["kind"]]
            assert digits["parent"].iloc[0] == partner_digits["parent"].iloc[0] == sign
            assert {digits["slot"].iloc[0], partner_digits["slot"].iloc[0]} == {1, 2}


def test_a_question_without_a_pair_alike_exchanges_nothing_there(make_model):
    swaps = find_swaps(["12/34", "2/6 - 66/18"], ["polarity"])
    assert has_positions(swaps, ALIKE).tolist() == [False, True]
    order = positions(swaps, 13, ALIKE, 1)
    assert order[0].tolist() == list(range(13))
    (position, *_), (partner, *_) = swaps["alike"].iloc[1]
    assert order[1, position + 1] == partner + 1
    table = measure_swaps(make_model(), swaps, [Exchange("role"), Exchange("role", place=ALIKE)])
    assert table["at"].value_counts()[ALIKE] == 1


NUMBERS = st.integers(1, 99)


@settings(max_examples=10)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_planted_roles_are_swapped_exactly(pairs):
    """The swap gives the predicted answer, with certainty; on heads that are not read, nothing."""
    model, swaps = PlantedRoles(), find_swaps([f"{a}/{b}" for a, b in pairs], CHANGING)
    if swaps.empty:
        return
    places = [("role",), ("filler",), ("binding",), ("role", 0, 0), ("role", 0, 1)]
    table = measure_swaps(model, swaps, [Exchange(*place) for place in places])
    assert find_answered(table.assign(model="planted")).all()
    for (vectors, head), rows in table.groupby(["vectors", "head"]):
        moves = vectors in ("role", "filler", "question") and head != 1
        assert (rows["counterfactual"] == moves).all(), (vectors, head)
        assert (rows["original"] != moves).all(), (vectors, head)
        assert (rows["p_counterfactual" if moves else "p_original"] > 0.999).all()


def test_a_difference_is_paired_and_the_best_head_is_measured_on_the_other_half():
    rows = []
    for question in range(40):
        base = {"model": "m", "kind": "polarity", "question": question, "original": True}
        base |= {"counterfactual": True, "layer": -1, "head": -1, "at": "pair", "p_original": 0.0}
        rows += [
            base | {"vectors": vectors, "p_counterfactual": 0.0} for vectors in ("none", "question")
        ]
        rows.append(base | {"vectors": "role", "p_counterfactual": 0.7})
        if question < 30:
            rows.append(base | {"vectors": "role", "at": ELSEWHERE, "p_counterfactual": 0.2})
    table = pd.DataFrame(rows)
    difference = compare_places(table).iloc[0]
    assert (difference["n"], round(difference["difference"], 6)) == (30, 0.5)


def test_planted_roles_of_other_questions_are_followed_by_their_polarity():
    """Answers are read off (digit, place, polarity): a donor's polarity decides, its digit does not."""
    model, swaps = PlantedRoles(), find_swaps(["12/34", "7/3", "56/18", "9/2"], ["polarity"])
    donors = read_digits(model, [f"{a}/{a * 37 % 99}" for a in range(1, 99)], ["role"])
    table = measure_donors(model, swaps, donors)
    assert table.groupby("at").size().to_dict() == dict.fromkeys(DONORS, len(swaps))
    for kind, rows in table.groupby("at"):
        assert (rows["counterfactual"] == ("other polarity" in str(kind))).all(), kind
        assert (rows["original"] == ("same polarity" in str(kind))).all(), kind
