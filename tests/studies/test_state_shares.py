"""The table of five networks on the page of decompositions is that of its numbers."""

from pathlib import Path

import pandas as pd

from studies.state_shares import RESULTS, list_subjects, say, write_table

PAGE = Path(__file__).parents[2] / "docs/decomposition.md"


def test_the_page_shows_the_measured_table():
    assert write_table(pd.read_csv(RESULTS)) in PAGE.read_text("utf-8")


def test_a_state_without_bindings_is_said_to_have_none_shown():
    row = dict.fromkeys(("bindings", "bindings_low", "shuffled", "shuffled_low"), -0.01)
    row |= {"bindings_high": 0.01, "shuffled_high": 0.01, "n": 50}
    assert "no binding is shown" in say(row, list_subjects()[0])
