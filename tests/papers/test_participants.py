"""Agents and patients of the generated English: what is exchanged, and what the grammar says of it."""

import pytest

from tprpapers.swaps.agent_patient import find_agent_swaps, judge_swaps
from tprpapers.swaps.exchanges import Way, measure_swaps
from tprpapers.swaps.swap_recipes import SwapRecipe
from tprpapers.swaps.swap_runs import run_swaps
from tprpapers.worlds.english import is_faithful, is_grammatical, sample, tokenize
from tprprobe.errors import InputError
from tprprobe.models import load_model


@pytest.fixture(scope="module")
def model():
    return load_model("tpt-d-english")


@pytest.fixture(scope="module")
def reports():
    return [sample(i, seed=11, split="test", depth=1, sentences=(4, 6)) for i in range(60)]


@pytest.fixture(scope="module")
def swaps(model, reports):
    return find_agent_swaps(reports, model.vocabulary)


def test_names_are_exchanged_and_the_grammar_makes_the_new_summary(model, reports, swaps):
    assert len(swaps) >= 2
    for row in swaps.to_dict("records"):
        report = reports[row["question"]]
        assert (row["text"], row["answer"]) == (report.source, report.target)
        assert sorted(tokenize(row["text"])) == sorted(tokenize(row["counterfactual"]))
        assert row["predicted"] != row["answer"]
        assert is_grammatical(row["predicted"])
        assert is_faithful(row["counterfactual"], row["predicted"])
        assert is_faithful(row["text"], row["answer"])
        places, text = model.vocabulary.offsets(row["text"]), row["text"]
        one, other = (
            text[places[row[side][0]][0] : places[row[side][-1]][1]] for side in ("first", "second")
        )
        assert one != other
        assert one in row["counterfactual"]
        assert other in row["counterfactual"]


def test_agents_are_measured_and_judged_as_numbers_are(model, swaps):
    some, ways = swaps.head(3), [Way("role"), Way("role", at="elsewhere")]
    measured = measure_swaps(model, some, ways)
    assert set(measured["vectors"]) == {"none", "question", "role"}
    judged = judge_swaps(model, some, ways)
    assert judged.query("at == 'pair'").groupby("vectors").size().to_dict() == {
        "none": 3,
        "role": 3,
    }
    assert (judged["grammatical"] | ~judged["true"]).all()


def test_agents_are_of_the_generated_english_only(model, make_data):
    recipe = SwapRecipe(n=1, swaps=["agent"])
    with pytest.raises(InputError, match="only the generated English"):
        run_swaps(model, make_data([("1 + 1", "2"), ("1 + 2", "3")]), recipe)
