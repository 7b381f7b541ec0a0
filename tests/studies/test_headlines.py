"""Pages of results open with question and answer; long tables are folded."""

import re
from pathlib import Path

import pytest

from studies.pages.headlines import (
    BEGIN,
    LONG,
    OPENINGS,
    finish_page,
    fold_tables,
)

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


def test_long_tables_are_folded_once():
    row = "| 1 | 2 |\n"
    short, long = ("| a | b |\n| --- | --- |\n" + row * n for n in (LONG, LONG + 1))
    assert fold_tables(short) == short
    folded = fold_tables(long + "\nend")
    assert folded.startswith("<details markdown><summary>Table of 5 rows: a, b …</summary>\n\n| a")
    assert fold_tables(folded) == folded
