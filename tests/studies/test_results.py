"""The pages of studies whose tables ship are made of these tables, to the letter: numbers, verdicts and words."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from studies.pages import successors_page
from studies.pages.headlines import finish_page
from studies.successors.trainings import PLAN

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["binding-benchmark", "study", "successors"])
def test_a_page_is_made_of_its_tables(page, tmp_path):
    module = import_module(f"studies.pages.{page.replace('-', '_')}_page")
    text = module.make_page(tmp_path)  # where nothing was kept in between
    assert finish_page(page, text) == (ROOT / f"studies/results/{page}.md").read_text("utf-8")


def test_every_prediction_of_networks_that_bind_has_its_statistic_and_names_what_was_planned():
    predictions = tomllib.loads(successors_page.PREDICTIONS.read_text("utf-8"))["prediction"]
    assert [prediction["id"] for prediction in predictions] == [*successors_page.STATISTICS]
    for prediction in predictions:
        assert {*prediction["models"]} <= {*PLAN["models"]}
