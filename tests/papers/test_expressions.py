"""Gold structure of arithmetic: the documented examples, the traps, what is missing where."""

from fractions import Fraction

import pandas as pd
import pytest

from tprprobe.errors import InputError
from tprprobe.gold import annotate, arithmetic, evaluate, join, tally


def numbers(question: str, column: str) -> dict[str, object]:
    """The value of a column for every number of a question (all different)."""
    rows = arithmetic(question)
    rows = rows[rows["kind"].isin(["digit", "point"])]
    texts = rows.groupby("number")["char"].agg("".join)
    return dict(zip(texts, rows.groupby("number")[column].first(), strict=True))


def of_polarity(question: str, polarity: str) -> set[str]:
    return {number for number, is_ in numbers(question, "polarity").items() if is_ == polarity}


def test_the_fraction_of_fractions_of_the_documentation():
    question = "Calculate (18/(-15))/((-3)/(-50)*52/117)."
    assert of_polarity(question, "numerator") == {"18", "50", "117"}
    assert of_polarity(question, "denominator") == {"15", "3", "52"}


def test_what_stands_between_a_slash_and_a_number():
    question = "Evaluate 1/2 - 3/(-4)/((5 + 6)/(-(7*8)))*(9)."
    behind = dict.fromkeys("123456789", "") | {"2": "/", "4": "/(-", "5": "/…", "7": "/…"}
    assert numbers(question, "behind") == behind
    surface = {digit: before in ("/", "/(-") for digit, before in behind.items()}
    polarities = numbers(question, "surface_polarity")
    assert {digit: value == "denominator" for digit, value in polarities.items()} == surface


def test_a_sum_ends_the_term_but_not_the_global_flip():
    question = "1/(2 + 3/4)"
    assert of_polarity(question, "denominator") == {"4"}
    globally = numbers(question, "polarity_global")
    assert globally == {"1": "numerator", "2": "denominator", "3": "denominator", "4": "numerator"}
    assert numbers(question, "flips") == {"1": 0, "2": 1, "3": 1, "4": 2}
    assert numbers(question, "term") == {"1": 0, "2": 1, "3": 2, "4": 2}


def test_signs_of_terms_after_distributing_minus():
    question = "1 - (2 - -3) + 4*5 - 6/7"
    signs = numbers(question, "add_sign")
    assert signs == {"1": 1, "2": -1, "3": 1, "4": 1, "5": 1, "6": -1, "7": -1}
    assert numbers("9*(1 - 2)", "add_sign") == {"9": 1, "1": 1, "2": -1}
    assert numbers("3 - -(1 - 2)*5", "add_sign") == {"3": 1, "1": 1, "2": -1, "5": 1}


def test_parents_are_found_behind_brackets_and_spaces():
    question = "(1 + 2)/(3*(4))"
    structure = arithmetic(question)
    assert numbers(question, "parent") == {"1": "+", "2": "+", "3": "*", "4": "*"}
    assert numbers(question, "parent_position") == {"1": 3, "2": 3, "3": 10, "4": 10}
    assert numbers(question, "div_second")["4"] == 7
    assert structure.loc[3, ["parent", "slot", "parent_position"]].to_list() == ["/", 1, 7]
    assert pd.isna(structure.loc[7, "parent"])
    assert structure.loc[[3, 7, 10], "tree_depth"].to_list() == [1, 0, 1]


def test_the_final_period_is_no_decimal_point_but_an_inner_one_is():
    assert numbers("Calculate 3 + 2.", "n_digits") == {"3": 1, "2": 1}
    assert evaluate("Calculate 3 + 2.") == 5
    assert numbers("Calculate 66.6*12.14.", "n_digits") == {"66.6": 3, "12.14": 4}
    assert evaluate("Calculate 66.6*12.14.") == Fraction("808.524")


def test_one_row_a_character_with_its_kind():
    structure = arithmetic("Calculate 1 - (-2).")
    assert "".join(structure["char"]) == "Calculate 1 - (-2)."
    kinds = [*["template"] * 10, "digit", "space", "op", "space", "lpar", "sign", "digit", "rpar"]
    assert structure["kind"].to_list() == [*kinds, "template"]
    assert structure["word"].to_list()[:9] == ["Calculate"] * 9
    assert structure["word"].to_list()[-1] == "."
    assert structure["bracket_depth"].to_list()[10:-1] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_what_does_not_apply_is_missing():
    structure = arithmetic("Evaluate 12/5.")
    elsewhere = structure[structure["kind"] != "digit"]
    for column in ("place", "polarity", "polarity_global", "flips", "number", "term", "msd"):
        assert elsewhere[column].isna().all()
    template = structure.loc[structure["kind"] == "template", "slot":"parent_position"]
    assert template.isna().all(axis=None)


@pytest.mark.parametrize(
    "question", ["Sum 3 and 4", "What is -5 times -75488.2?", "", "In base 6, what is 5 + 1?"]
)
def test_worded_questions_are_left_unlabelled(question):
    structure = arithmetic(question)
    assert (structure["kind"] == "worded").all()
    assert structure.drop(columns=["char", "kind"]).isna().all(axis=None)
    with pytest.raises(InputError, match="in words"):
        evaluate(question)


@pytest.mark.parametrize(
    "question",
    ["Calculate 3 + * 4.", "2**3", "7//2", "(1 + 2", "2(3)", "3 4", "What is 1 + ...?", "1 + () + 2",
     "+5 + 3", "1)+(2", "(" * 300 + "1" + ")" * 300],
)  # fmt: skip
def test_what_looks_like_an_expression_but_is_none_is_never_guessed(question):
    with pytest.raises(InputError, match="as an arithmetic expression"):
        arithmetic(question)


def test_many_questions_are_counted_and_divisions_by_zero_have_structure_but_no_value():
    structure = annotate(["1/0", "Sum 1 and 2", "2**3", "Calculate 3."])
    assert tally(structure) == {"parsed": 2, "worded": 1, "unparsed": 1}
    assert (structure.loc[structure["question"] == 2, "kind"] == "unparsed").all()
    with pytest.raises(InputError, match="zero"):
        evaluate("1/0")


def token_table(questions: list[str]) -> pd.DataFrame:
    rows = []
    for sample, question in enumerate(questions):
        for side, text in (("source", question), ("target", "12")):
            for position, token in enumerate(["<sos>", *text, "<eos>"]):
                rows.append((side, sample, position, token, question))
    table = pd.DataFrame(rows, columns=["side", "sample", "position", "token", "question"])
    return table.astype(dict.fromkeys(["side", "token", "question"], "category"))


def test_joined_to_a_token_table_characters_have_their_structure_one_place_further():
    questions = ["Calculate 2/(3/4).", "Sum 1 and 2", "12"]
    tokens = token_table(questions).rename(index=lambda row: row + 100)
    joined = join(tokens)
    assert joined.index.equals(tokens.index)
    pd.testing.assert_frame_equal(joined[tokens.columns], tokens)
    for sample, question in enumerate(questions):
        rows = joined[(joined["sample"] == sample) & (joined["side"] == "source")]
        assert rows["kind"].iloc[[0, -1]].to_list() == ["sos", "eos"]
        inner = rows.iloc[1:-1].reset_index(drop=True)
        gold = arithmetic(question)
        pd.testing.assert_frame_equal(inner[gold.columns], gold)
        ends = rows.iloc[[0, -1]].drop(columns="kind")
        assert ends.loc[:, "char":].isna().all(axis=None)
    assert joined.loc[joined["side"] == "target", "char":].isna().all(axis=None)


def test_other_tokens_than_the_characters_of_the_questions_are_refused():
    tokens = token_table(["1 + 2"])
    with pytest.raises(InputError, match="are not the characters of its questions"):
        join(tokens.assign(token=tokens["token"].astype(str).replace("1", "3")))
    with pytest.raises(InputError, match="are not the characters of its questions"):
        join(tokens.assign(position=tokens["position"] - 1))
