"""The study of networks that are built to bind: its page has the numbers of its tables, and swaps expect what the task says."""

import tomllib
from pathlib import Path

from studies.pages import successors_page
from studies.pages.headlines import finish_page
from studies.successors.trainings import PLAN

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_its_tables():
    page = (ROOT / "studies/results/successors.md").read_text("utf-8")
    assert page == finish_page("successors", successors_page.make_page(ROOT))


def test_every_prediction_has_its_statistic_and_names_what_was_planned():
    predictions = tomllib.loads(successors_page.PREDICTIONS.read_text("utf-8"))["prediction"]
    assert [each["id"] for each in predictions] == [*successors_page.STATISTICS]
    for each in predictions:
        assert {*each["models"]} <= {*PLAN["models"]}
