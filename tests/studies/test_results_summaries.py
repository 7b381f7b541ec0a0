"""The page on summaries: models of a study over seeds and reports; what speaks against a claim first."""

import re
from dataclasses import replace

import pytest
from planted.summary_study import plant_study

from studies.pages.deciding import CONTRASTS, decide, find_alike
from studies.pages.study_contrasts import measure_contrasts
from studies.pages.summaries_page import gather_evidence, judge_external, order, write_page
from studies.pages.verdicts import claims_of, read_page
from studies.summary_roles.records import STUDY
from tprpapers.claims import judge
from tprpapers.study.plans import read_plan
from tprprobe.files import assets
from tprprobe.statistics import Interval

BETTER = {"t5": 0.6, "t5-torch": 0.7, "tpt-c": 0.5, "tpt-d": 0.8, "tpt-d-t5": 0.7}  # TPT-d: + .1
LEAD = {"rougeL": Interval(0.3, 0.2, 0.4)}


def verdicts(level, seeds, lead=LEAD):
    evidence = gather_evidence(plant_study(level, seeds), lead)
    return {claim.id: judge(claim, evidence.get(claim.id)) for claim in claims_of("summaries")}


def test_what_was_planted_is_decided_by_three_seeds():
    outcomes = verdicts(BETTER, [0, 1, 2])
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert outcomes[f"jiang-{name}"].outcome == "holds", name
    worse = verdicts(BETTER | {"tpt-d": 0.6, "tpt-d-t5": 0.5, "tpt-c": 0.9}, [0, 1, 2])
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert worse[f"jiang-{name}"].outcome == "fails", name


def test_a_difference_of_starts_alone_is_no_difference_of_models():
    """As published TPT-d is .1 ahead, and so is T5 when it starts as TPT-d does."""
    level = {"t5": 0.6, "t5-torch": 0.7, "tpt-c": 0.5, "tpt-d": 0.7, "tpt-d-t5": 0.6}
    outcomes = verdicts(level, [0, 1, 2])
    assert outcomes["jiang-table2-better"].outcome != "holds"
    assert outcomes["jiang-factual"].outcome != "holds"
    study = plant_study(level, [0, 1, 2])
    rows = measure_contrasts(study, CONTRASTS, ("test",), ("rougeL",))
    contrasts = rows.set_index("contrast")["value"]
    assert contrasts["TPT-d − T5, as published"] == pytest.approx(0.1, abs=0.02)
    assert contrasts["TPT-d − T5, started alike"] == pytest.approx(0, abs=0.02)
    assert contrasts["T5: torch − T5's start"] == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_fewer_than_three_seeds_decide_nothing(seeds):
    outcomes = verdicts(BETTER, seeds)
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert outcomes[f"jiang-{name}"].outcome == "undecided", name
    assert (
        f"{len(seeds)} model seed(s), must be at least 3" in outcomes["jiang-factual"].reason
        or len(seeds) == 1
    )


def test_a_transformer_below_the_first_sentence_decides_nothing():
    outcomes = verdicts(BETTER, [0, 1, 2], {"rougeL": Interval(0.9, 0.8, 1.0)})
    assert "transformer beats lead -0.2" in outcomes["jiang-table2-better"].reason
    assert outcomes["jiang-table2-better"].outcome == "undecided"


def test_a_study_that_has_not_finished_tells_what_it_has():
    level = {name: BETTER[name] for name in ("t5", "tpt-d")}
    assert "jiang-factual" not in gather_evidence(plant_study(level, [0, 1, 2]), LEAD)
    outcomes = verdicts(level, [0, 1, 2])
    assert outcomes["jiang-table2-better"].outcome == "undecided"


def test_the_page_shows_every_claim_and_both_trainings():
    plan = read_plan(assets.find("studies", STUDY) / "plan.toml")
    longer = plant_study({"t5": 0.9, "t5-torch": 0.9, "tpt-d": 0.5}, [0], steps=9000)
    page = write_page(plant_study(BETTER, [0, 1, 2]), longer, plan)
    assert page.index("## After 9,000 steps") < page.index("## After 3,750 steps")
    lines = [line for line in page.splitlines() if line.startswith("| TPT-d − T5, as published")]
    assert [line.split(" | ")[1] for line in lines] == ["1", "1", "3", "3"]  # seeds, by split
    assert re.search(r"\| TPT-d − T5, both torch \| 3 \| \+0\.(08|09|1)\d+ ", page)
    assert page.count("TPT-c − T5, both T5's start") == 2  # it was not trained longer
    rows = list(read_page("summaries", page))
    assert sorted(row[0] for row in rows) == sorted(claim.id for claim in claims_of("summaries"))
    worse = plant_study(BETTER | {"tpt-d": 0.5, "tpt-d-t5": 0.5}, [0, 1, 2])
    evidence = gather_evidence(worse, LEAD)
    outcomes = [judge(claim, evidence.get(claim.id)) for claim in claims_of("summaries")]
    places = {verdict.claim.id: order(verdict) for verdict in outcomes}
    assert places["jiang-table2-better"] == 0  # speaks against the claim
    assert max(places, key=lambda name: places[name]) not in evidence


def test_three_seeds_of_the_longer_training_decide():
    """TPT-d learns more slowly than T5: it is worse after few steps, and better after many."""
    plan = read_plan(assets.find("studies", STUDY) / "plan.toml")
    study = plant_study(BETTER | {"tpt-d": 0.3, "tpt-d-t5": 0.3}, [0, 1, 2])
    later = {"t5": 0.8, "t5-torch": 0.8, "tpt-d": 0.9}
    outcomes = {}
    for seeds in ([0, 1], [0, 1, 2]):
        longer = plant_study(later, seeds, steps=9000)
        page = write_page(study, longer, plan)
        rows = list(read_page("summaries", page))
        outcomes[len(seeds)] = {row[0]: row[3] for row in rows}
        steps = {row[0]: row[4].rpartition("; ")[2] for row in rows}
        assert steps["jiang-factual"] == f"after {[3750, 9000][len(seeds) > 2]:,} steps"
        assert steps["jiang-tptc-worst"] == "after 3,750 steps"  # no TPT-c was trained longer
    for name in ("table2-better", "grammatical", "factual"):
        assert outcomes[2][f"jiang-{name}"] == "fails", name
        assert outcomes[3][f"jiang-{name}"] == "holds", name


def test_one_seed_of_another_start_takes_no_verdict_back():
    """Three seeds of torch's default decide, also when one of T5's start has joined them."""
    study = plant_study(BETTER, [0, 1, 2])
    fewer_runs = study.runs[(study.runs["variant"] != "tpt-d-t5") | (study.runs["seed"] == 0)]
    longer = replace(study, runs=fewer_runs)
    assert find_alike(longer) == "both torch"
    assert find_alike(study) == "started alike"
    [claim] = [candidate for candidate in claims_of("summaries") if candidate.id == "jiang-factual"]
    [verdict] = decide([claim], {9000: gather_evidence(longer, LEAD)})
    assert (verdict.outcome, verdict.reason[-17:]) == ("holds", "after 9,000 steps")


def test_facts_that_no_reference_lacks_are_not_decidable():
    [claim] = [
        candidate for candidate in claims_of("summaries") if candidate.id == "jiang-external-facts"
    ]
    references = plant_study({"t5": 0.5}, [0]).examples[:1].assign(source="Ann saw a dog in Rome.")
    verdict = judge_external(judge(claim, None), references.assign(target="She met Ann in Rome."))
    assert (verdict.outcome, verdict.reason) == (
        "not decidable here",
        "0 of 1 references of the generated English have such facts",
    )
    verdict = judge_external(judge(claim, None), references.assign(target="She met Ann in Oslo."))
    assert (verdict.outcome, verdict.reason) == ("undecided", "not measured")
