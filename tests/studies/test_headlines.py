"""Pages of results open with question and answer, whose numbers are theirs; the table of verdicts says what they say."""

import re
from importlib import import_module

import pandas as pd
import pytest

from studies.pages.headlines import BEGIN, OPENINGS, finish_page
from studies.verdicts.table import (
    RESULTS,
    STUDIES,
    UNMEASURED,
    read_table,
    renew_rows,
    study_of,
    tabulate,
    write_page,
)
from tprpapers.claims import load_claims


@pytest.mark.parametrize("page", sorted(OPENINGS))
def test_a_page_that_ships_has_its_opening(page):
    text = (RESULTS / f"{page}.md").read_text("utf-8")
    assert finish_page(page, text) == text
    assert text.count(BEGIN) == 1
    assert (RESULTS / OPENINGS[page]["picture"]).is_file()


@pytest.mark.parametrize("page", sorted(OPENINGS))
def test_an_answer_has_the_numbers_of_its_page(page):
    text = (RESULTS / f"{page}.md").read_text("utf-8")
    opening = OPENINGS[page]
    details = text[text.index("**How sure.**") :].replace(opening["sure"], "")
    for number in re.findall(r"[-+]?\d[\d.,]*\d", f"{opening['answer']} {opening['sure']}"):
        assert number in details, f"{page}: {number}"


# The one table of verdicts


def test_every_claim_has_one_study_or_a_reason():
    listed = [name for facts in STUDIES.values() for name in facts.get("claims", ())]
    assert {*listed, *UNMEASURED} <= load_claims().keys()
    assert len({*listed, *UNMEASURED}) == len(listed) + len(UNMEASURED)
    for name in load_claims():
        assert (study_of(name) in STUDIES) != (name in UNMEASURED), name


def test_the_table_that_ships_has_every_claim_and_is_what_its_page_shows():
    shipped = read_table()
    assert (RESULTS / "claims.md").read_text("utf-8") == write_page(shipped)
    assert not shipped.duplicated(["claim", "model"]).any()
    assert set(shipped["claim"]) == set(load_claims())
    assert (shipped["study"] == shipped["claim"].map(study_of)).all()
    pd.testing.assert_frame_equal(renew_rows(shipped, shipped.query("study == 'probing'")), shipped)


@pytest.mark.parametrize("study", ["matched", "probing"])
def test_what_ships_is_judged_as_the_table_says(study, tmp_path):
    judged = tabulate(study, import_module(f"studies.verdicts.{study}").decide(tmp_path))
    shipped = read_table()
    pd.testing.assert_frame_equal(renew_rows(shipped, judged), shipped)


@pytest.mark.parametrize("study", STUDIES)
def test_an_answer_on_claims_has_the_numbers_of_their_verdicts(study):
    reasons = " ".join(read_table().query("study == @study")["reason"])
    for number in re.findall(r"-?\d\.\d+", STUDIES[study]["answer"]):
        assert number in reasons, number
