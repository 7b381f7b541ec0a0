"""Pages of results open with question and answer, whose numbers are theirs; the table of verdicts says what they say."""

import re
from pathlib import Path

import pandas as pd
import pytest

from studies.pages.__main__ import PAGES
from studies.pages.headlines import BEGIN, OPENINGS, finish_page
from studies.pages.verdicts import (
    FILE,
    NO_PAGE,
    OTHER_PAGE,
    claims_of,
    page_of,
    read_pages,
)
from tprpapers.claims import load_claims

RESULTS = Path(__file__).parents[2] / "studies/results"


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


def test_every_claim_has_one_page_or_a_reason():
    claims = load_claims()
    assert {*OTHER_PAGE, *NO_PAGE} <= claims.keys()
    assert not OTHER_PAGE.keys() & NO_PAGE.keys()
    for name in claims:
        assert (page_of(name) in PAGES) != (name in NO_PAGE), name
    assert sum(len(claims_of(page)) for page in PAGES) == len(claims) - len(NO_PAGE)


def test_the_table_that_ships_is_what_the_pages_say():
    shipped = pd.read_csv(RESULTS / FILE, keep_default_na=False)
    pd.testing.assert_frame_equal(shipped, read_pages(RESULTS))
    assert not shipped.duplicated(["claim", "model"]).any()
    assert shipped.groupby("claim")["page"].nunique().eq(1).all()
    assert set(shipped["claim"]) == set(load_claims())
