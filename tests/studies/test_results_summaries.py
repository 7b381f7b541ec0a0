"""The page on summaries: models of a study over seeds and reports; what speaks against a claim first."""

import pytest
from planted.summary_study import plant_study

from studies.pages.deciding import CONTRASTS
from studies.pages.study_contrasts import measure_contrasts
from studies.pages.summaries_page import gather_evidence, write_page
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


def test_the_page_shows_every_claim_and_both_trainings():
    plan = read_plan(assets.find("studies", STUDY) / "plan.toml")
    longer = plant_study({"t5": 0.9, "t5-torch": 0.9, "tpt-d": 0.5}, [0], steps=9000)
    page = write_page(plant_study(BETTER, [0, 1, 2]), longer, plan)
    assert page.index("## After 9,000 steps") < page.index("## After 3,750 steps")
    rows = list(read_page("summaries", page))
    assert sorted(row[0] for row in rows) == sorted(claim.id for claim in claims_of("summaries"))


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
