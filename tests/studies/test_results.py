"""The page of results has every claim and every head, and only numbers that were measured."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.pages import arithmetic_tables as analyses
from studies.pages.arithmetic_estimates import gather_evidence, minus
from studies.pages.arithmetic_page import write_page
from studies.pages.arithmetic_tables import analyse, compare_swaps
from studies.pages.training_overlap import list_training, mark_trained
from studies.pages.verdicts import claims_of, read_page
from tprpapers.claims import load_claims
from tprpapers.schlag.claim_cases import mean
from tprpapers.worlds.mathematics.formulas import parse
from tprprobe.data import load_data
from tprprobe.statistics import Interval
from tprprobe.training.recipes import read_recipe

DRAWS = analyses.PROJECTIONS  # before a test asks for fewer
numbers = st.floats(-5, 5)
halves = st.floats(0, 3)


@st.composite
def estimates(draw):
    value = draw(numbers)
    return Interval(value, value - draw(halves), value + draw(halves))


@pytest.fixture(scope="module")
def found(tmp_path_factory, make_model):
    """The analyses of two tiny random models."""
    with pytest.MonkeyPatch.context() as patch:
        models = {analyses.MODEL: {}, analyses.BASELINE: {"architecture": "transformer"}}

        def load(name):
            model = make_model(fluent=True, **models[name])
            model.name = name
            return model

        patch.setattr(analyses, "load_model", load)
        patch.setattr(analyses, "MAPS", 24)
        patch.setattr(analyses, "PAIRS", 30)
        patch.setattr(analyses, "K", 5)
        patch.setattr(analyses, "PROJECTIONS", 3)
        some = [each.model_copy(update={"n": 20}) for each in analyses.read_training()]
        patch.setattr(analyses, "read_training", lambda: some)
        yield analyse(tmp_path_factory.mktemp("results"), 24)


@pytest.fixture(scope="module")
def page(found):
    return write_page(found)


def test_the_page_decides_its_own_claims_and_no_other(page):
    own = claims_of("arithmetic")
    quoted = {claim.quotation for claim in own}
    for name, claim in load_claims().items():
        assert (claim.quotation in page) == (claim.quotation in quoted), name
    outcomes = re.findall(
        r"\| (holds|fails|undecided|not comparable|not decidable here) \|$", page, re.M
    )
    assert len(outcomes) == len(own)
    assert [row[0] for row in read_page("arithmetic", page)] == [claim.id for claim in own]


def test_claims_that_cannot_fail_are_counted_apart(page):
    units = [claim.unit for claim in claims_of("arithmetic")]
    told = re.search(r"Of the (\d+) claims that this page decides, (\d+) could", page)
    apart = re.search(r"these, (\d+) are algebra or arithmetic", page)
    assert told is not None
    assert apart is not None
    assert [*map(int, told.groups())] == [len(units), len(units) - units.count("exact")]
    assert int(apart[1]) == units.count("exact") > 5


def test_what_can_be_shown_exactly_is_decided(page):
    lines = [line for line in page.splitlines() if "“" in line]
    decided = [line for line in lines if "| holds |" in line or "| fails |" in line]
    for words in ("specifically removes this ambiguity", "polynomial degree", "crucial property"):
        assert any(words in line and "| holds |" in line for line in decided), words
    assert any("14.2 million" in line and "| fails |" in line for line in decided)


def test_a_model_that_cannot_answer_decides_nothing_about_numerators(found, page):
    assert found.naming.facts["discordant_questions"]["exact_match"] < 0.5
    for claim in claims_of("arithmetic"):
        if "discordant_exact_match" in claim.gates:
            stated = re.compile(rf"\| {re.escape(claim.statistic)} (\||\()")
            (line,) = [each for each in page.splitlines() if stated.search(each)]
            assert re.search(r"\| (undecided|not decidable here) \|", line), claim.id


def test_polarity_is_judged_by_the_rule_that_the_claim_writes(found, page):
    decoding = found.naming.decoding.query(
        "model == 'trained' and vectors == 'role' and layer == 1 and subset == 'all'"
    )
    gains = decoding[decoding["predictor"] == "adjacent"].set_index("head")["gain"]
    cases = gather_evidence(found)["schlag-polarity-clusters"].cases
    assert {name: each.value for name, each in cases.items()} == {
        f"head {head}": gain for head, gain in gains.items()
    }
    assert "right after '/'" in load_claims()["schlag-polarity-clusters"].statistic
    for rule in ("right after '/'", "'/', '/(' or '/(-'", "'/' and any brackets"):
        assert f"| {rule} |" in page


def test_the_page_says_how_many_heads_are_beyond_random_projections(found, page):
    gains = found.naming.decoding.query(
        "model == 'trained' and layer == 1 and subset == 'all' and predictor == 'adjacent'"
    )
    own, random = (gains[gains["vectors"] == name]["gain"] for name in ("role", "random"))
    beyond = sum(each > random.max() for each in own)
    assert f"; {beyond} are beyond the best of the random projections" in page
    assert f"Of the {len(own)} heads of roles " in page


def test_ones_digits_are_judged_by_counts_and_not_by_names(found, page):
    ones = found.naming.ones.query("model == 'trained' and vectors == 'role' and layer == 1")
    cases = gather_evidence(found)["schlag-ones-digit-roles"].cases
    assert {case.value for case in cases.values()} <= set(ones["precision"])
    assert min(case.value for case in cases.values()) > 0
    projected = found.naming.ones.query(
        "vectors == 'random' and layer == 1 and polarity == 'numerator'"
    )
    assert len(projected) == 3
    assert DRAWS == 20
    assert "(least to most of 3)" in page


def test_expressions_that_are_trained_on_in_other_words_are_found():
    (part,) = [each for each in analyses.read_training() if each.data.endswith("__mixed")]
    part = part.model_copy(update={"n": 30})
    asked = load_data(part.data, split=part.split, n=2, seed=part.seed)
    expressions = [found.text for each in asked if (found := parse(each.source))]
    questions = [f"Work out {expressions[0]}.", f"{expressions[1]}?", "Work out 1234567*8.", "Add"]
    assert mark_trained(questions, [part])["trained"].tolist() == [True, True, False, False]


def test_a_part_of_the_training_set_counts_once_and_whole():
    recipe = read_recipe("models/tpt-c-arithmetic/recipe.toml")
    parts = list_training(recipe)
    assert len({each.data for each in parts}) == len(parts) == 6
    mixed = [mix.n for stage in recipe.stages for mix in stage.mix if mix.data.endswith("__mixed")]
    assert [each.n for each in parts if each.data.endswith("__mixed")] == [400_000]
    assert mixed == [100_000, 400_000]


def test_the_page_says_what_was_trained_on_and_where_the_attention_is(found, page):
    others = found.questions[~found.questions["trained"]]
    assert f"the expressions of {found.questions['trained'].mean():.1%} are" in page
    assert f"of the other questions it answered {others['right'].mean():.1%} [" in page
    heads = found.relations.query(
        "source == 'head' and way == 'rows' and gold == 'net' and score == 'mass' and layer == 0 "
        "and not untrained"
    )
    best = heads.iloc[heads["value"].argmax()]
    assert f"layer 0, head {best['head']} puts {best['value']:.3f} [" in page


def test_every_head_is_on_the_page(page):
    for layer in range(2):
        for head in range(2):
            assert f"\n| {layer} | {head} | " in page


def test_no_number_is_missing(page):
    assert "nan" not in re.sub(r"“.*?”", "", page).lower()
    widths = {line.count("|") for line in page.splitlines() if line.startswith("| ---")}
    assert widths


def test_tables_are_well_formed(page):
    rows = [line for line in page.splitlines() if line.startswith("|")]
    block, last = set(), None
    for line in page.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells is None:
            block = set()
        else:
            block.add(cells)
        assert len(block) <= 1, line
        last = cells
    assert rows
    assert last is None or last > 1


def test_a_second_run_makes_the_same_page(found, page):
    assert write_page(found) == page


def test_all_that_is_measured_is_a_claim(found):
    assert gather_evidence(found).keys() <= load_claims().keys()


def test_exchanged_fillers_are_told_apart():
    assert compare_swaps(200)["equal"].eq(0).all()


@given(estimates(), estimates(), st.floats(0, 1), st.floats(0, 1))
def test_a_difference_covers_all_that_its_parts_cover(first, second, s, t):
    found = minus(first, second)
    assert found.value == first.value - second.value
    a, b = first.low + s * (first.high - first.low), second.low + t * (second.high - second.low)
    assert found.low - 1e-9 <= a - b <= found.high + 1e-9


@given(st.lists(estimates(), min_size=1, max_size=4))
def test_a_mean_lies_within_its_bounds(parts):
    found = mean(parts)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert min(each.low for each in parts) - 1e-9 <= found.low
