"""Headlines of pages of results are read from verdicts; long tables are folded."""

import re
from pathlib import Path

import pytest

from studies.pages.__main__ import PAGES
from studies.pages.headlines import (
    BEGIN,
    LONG,
    OPENINGS,
    QUESTIONS,
    _shorten,
    add_headline,
    finish_page,
    fold_tables,
)
from studies.pages.verdicts import page_of

RESULTS = Path(__file__).parents[2] / "studies/results"


def test_every_question_is_of_a_claim_that_its_page_decides():
    for page, questions in QUESTIONS.items():
        assert {page_of(claim) for claim in questions} == {page}


@pytest.mark.parametrize("page", sorted(OPENINGS))
def test_a_page_that_ships_has_its_opening_and_the_headline_of_its_verdicts(page):
    text = (RESULTS / f"{page}.md").read_text("utf-8")
    assert finish_page(page, text) == text
    assert text.count(BEGIN) == 1
    assert (RESULTS / OPENINGS[page]["picture"]).is_file()


@pytest.mark.parametrize("page", sorted(OPENINGS))
def test_an_answer_has_two_sentences_and_numbers_of_its_page(page):
    text = (RESULTS / f"{page}.md").read_text("utf-8")
    opening = OPENINGS[page]
    details = text[text.index("**How sure.**") :].replace(opening["sure"], "")
    for number in re.findall(r"[-+]?\d[\d.,]*\d", f"{opening['answer']} {opening['sure']}"):
        assert number in details, f"{page}: {number}"
    sentences = re.split(r"(?<=[.?]) (?=[A-Z])", opening["answer"])
    assert len(sentences) == 2
    for sentence in sentences:  # a value with its interval is one number
        assert len(re.findall(r"(?<![\w-])[-+]?\d[\d.]*(?: \[.*?\])?", sentence)) <= 2


def test_every_page_of_results_has_an_opening():
    assert {*OPENINGS} == {*PAGES} - {"binding-benchmark"}  # which opens so itself


def test_a_headline_follows_its_verdict():
    text = (RESULTS / "interventions.md").read_text("utf-8")
    turned = text.replace("**Verdict: holds**", "**Verdict: fails**")
    assert turned != text
    assert "other polarity? | No | " in add_headline("interventions", turned)


def test_a_headline_of_many_cases_has_the_least_and_the_most():
    reason = "least a -0.2 [-0.3, 0.1]; deciding b -0.1 [-0.2, -0.1]; most c 0.3 [0.2, 0.4] (each of 5 must be above 0)"
    assert _shorten(reason) == "from a: -0.2 [-0.3, 0.1] to c: 0.3 [0.2, 0.4]"


def test_long_tables_are_folded_once():
    row = "| 1 | 2 |\n"
    short, long = ("| a | b |\n| --- | --- |\n" + row * n for n in (LONG, LONG + 1))
    assert fold_tables(short) == short
    folded = fold_tables(long + "\nend")
    assert folded.startswith("<details markdown><summary>Table of 5 rows: a, b …</summary>\n\n| a")
    assert fold_tables(folded) == folded
    titled = fold_tables("**A title**\n\n" + long + "\nIts note.\n\nThe next paragraph.\n")
    assert titled.startswith("<details markdown><summary>A title (5 rows)</summary>\n\n| a | b |\n")
    assert titled.endswith("\n\nIts note.\n\n</details>\n\nThe next paragraph.\n")
    assert fold_tables(titled) == titled
    claims = fold_tables(long.replace("| b |", "| verdict |"))
    assert claims.startswith("<details markdown><summary>Verdicts on 5 claims</summary>")
