"""The page of results has every claim and every head, and only numbers that were measured."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.intervals import minus
from studies.pages import arithmetic_tables as analyses
from studies.pages.arithmetic_estimates import gather_evidence
from studies.pages.arithmetic_page import write_page
from studies.pages.arithmetic_tables import analyse
from studies.pages.training_overlap import list_training, mark_trained
from studies.pages.verdicts import claims_of, read_page
from tprpapers.claims import load_claims
from tprpapers.worlds.mathematics.formulas import parse
from tprprobe.data import load_data
from tprprobe.statistics import Interval
from tprprobe.training.recipes import read_recipe

numbers = st.floats(-5, 5)
halves = st.floats(0, 3)


@st.composite
def estimates(draw):
    value = draw(numbers)
    return Interval(value, value - draw(halves), value + draw(halves))


@pytest.fixture(scope="module")
def evidence_run(tmp_path_factory, make_model):
    """The analyses of two tiny random models."""
    with pytest.MonkeyPatch.context() as patch:
        models = {analyses.MODEL: {}, analyses.BASELINE: {"architecture": "transformer"}}

        def load(name):
            model = make_model(fluent=True, **models[name])
            model.name = name
            return model

        patch.setattr(analyses, "load_model", load)
        patch.setattr(analyses, "MAPS", 12)
        patch.setattr(analyses, "PAIRS", 15)
        patch.setattr(analyses, "K", 5)
        patch.setattr(analyses, "PROJECTIONS", 3)
        mixes = [mix.model_copy(update={"n": 20}) for mix in analyses.read_training()]
        patch.setattr(analyses, "read_training", lambda: mixes)
        yield analyse(tmp_path_factory.mktemp("results"), 24)


@pytest.fixture(scope="module")
def page(evidence_run):
    return write_page(evidence_run)


def test_the_page_decides_its_own_claims_and_no_other(page):
    page_claims = claims_of("arithmetic")
    quoted = {claim.quotation for claim in page_claims}
    for name, claim in load_claims().items():
        assert (claim.quotation in page) == (claim.quotation in quoted), name
    outcomes = re.findall(
        r"\| (holds|fails|undecided|not comparable|not decidable here) \|$", page, re.M
    )
    assert len(outcomes) == len(page_claims)
    assert [row[0] for row in read_page("arithmetic", page)] == [claim.id for claim in page_claims]


def test_what_can_be_shown_exactly_is_decided(page):
    lines = [line for line in page.splitlines() if "“" in line]
    decided = [line for line in lines if "| holds |" in line or "| fails |" in line]
    for words in ("specifically removes this ambiguity", "polynomial degree", "crucial property"):
        assert any(words in line and "| holds |" in line for line in decided), words
    assert any("14.2 million" in line and "| fails |" in line for line in decided)


def test_polarity_is_judged_by_the_rule_that_the_claim_writes(evidence_run, page):
    decoding = evidence_run.naming.decoding.query(
        "model == 'trained' and vectors == 'role' and layer == 1 and subset == 'all'"
    )
    gains = decoding[decoding["predictor"] == "adjacent"].set_index("head")["gain"]
    cases = gather_evidence(evidence_run)["schlag-polarity-clusters"].cases
    assert {name: interval.value for name, interval in cases.items()} == {
        f"head {head}": gain for head, gain in gains.items()
    }
    assert "right after '/'" in load_claims()["schlag-polarity-clusters"].statistic
    for rule in ("right after '/'", "'/', '/(' or '/(-'", "'/' and any brackets"):
        assert f"| {rule} |" in page


def test_expressions_that_are_trained_on_in_other_words_are_found():
    (mix,) = [
        candidate for candidate in analyses.read_training() if candidate.data.endswith("__mixed")
    ]
    mix = mix.model_copy(update={"n": 30})
    dataset = load_data(mix.data, split=mix.split, n=2, seed=mix.seed)
    expressions = [expression.text for example in dataset if (expression := parse(example.source))]
    questions = [f"Work out {expressions[0]}.", f"{expressions[1]}?", "Work out 1234567*8.", "Add"]
    assert mark_trained(questions, [mix])["trained"].tolist() == [True, True, False, False]


def test_a_part_of_the_training_set_counts_once_and_whole():
    recipe = read_recipe("models/tpt-c-arithmetic/recipe.toml")
    mixes = list_training(recipe)
    assert len({mix_part.data for mix_part in mixes}) == len(mixes) == 6
    mixed = [mix.n for stage in recipe.stages for mix in stage.mix if mix.data.endswith("__mixed")]
    assert [mix_part.n for mix_part in mixes if mix_part.data.endswith("__mixed")] == [400_000]
    assert mixed == [100_000, 400_000]


def test_no_number_is_missing(page):
    assert "nan" not in re.sub(r"“.*?”", "", page).lower()
    widths = {line.count("|") for line in page.splitlines() if line.startswith("| ---")}
    assert widths


@given(estimates(), estimates(), st.floats(0, 1), st.floats(0, 1))
def test_a_difference_covers_all_that_its_parts_cover(minuend, subtrahend, s, t):
    difference = minus(minuend, subtrahend)
    assert difference.value == minuend.value - subtrahend.value
    a, b = (
        minuend.low + s * (minuend.high - minuend.low),
        subtrahend.low + t * (subtrahend.high - subtrahend.low),
    )
    assert difference.low - 1e-9 <= a - b <= difference.high + 1e-9
