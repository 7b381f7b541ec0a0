"""The page on summaries: all that was measured is shown, what speaks against a claim first."""

import re

import pandas as pd
import pytest

from studies.pages import summaries_page
from studies.pages.summaries_page import MODELS, SHOWN, gather_evidence, write_page
from studies.pages.verdicts import claims_of, read_page
from tprprobe.statistics import Interval

REFERENCES = pd.DataFrame(
    {"source": ["Ann saw a dog in Rome."], "target": ["She met Ann in Rome."]}
)


def plant(**values):
    return {
        model: {name: Interval(value, value - 0.01, value + 0.01) for name in SHOWN}
        for model, value in zip(MODELS, values.values(), strict=True)
    }


SENTENCES = [{"rougeL": {"value": value, "low": 0.1, "high": 0.9}} for value in (0.5, 0.4)]


@pytest.fixture
def page():
    """TPT-c is best, and TPT-d below the T5."""
    found = plant(continuous=0.9, transformer=0.8, discrete=0.7)
    lead = {"rougeL": Interval(0.5, 0.4, 0.6)}
    return write_page({"test": found, "compositional": found}, lead, found, SENTENCES, REFERENCES)


def test_what_speaks_against_a_claim_stands_first(page):
    rows = list(read_page("summaries", page))
    assert sorted(row[0] for row in rows) == sorted(claim.id for claim in claims_of("summaries"))
    reasons = [row[4] for row in rows]
    assert [("-0." in reason) for reason in reasons[:4]] == [True] * 4
    assert not any("-0." in row[4] for row in rows[4:] if row[3] != "not comparable")
    assert {row[3] for row in rows[:4]} == {"undecided"}
    assert all("1 model seed(s), must be at least 3" in reason for reason in reasons[:4])
    assert "first sentence (ROUGE-L 0.500 [0.100, 0.900]) and than a random one (0.400 " in page


def test_a_better_model_moves_its_claims_back():
    found = plant(continuous=0.6, transformer=0.7, discrete=0.8)
    page = write_page(
        {"test": found}, {"rougeL": Interval(0.5, 0.4, 0.6)}, found, SENTENCES, REFERENCES
    )
    assert re.search(r"ROUGE-1, test 0\.100", page)
    evidence = gather_evidence({"test": found}, {"rougeL": Interval(0.5, 0.4, 0.6)})
    known = {claim.id: claim for claim in claims_of("summaries")}
    places = {name: summaries_page.order(known[name], each) for name, each in evidence.items()}
    assert set(places.values()) == {1, 2}  # 2: the data of CNN/Daily Mail alone
    assert summaries_page.order(known["jiang-external-facts"], None) == 2


def test_a_transformer_below_the_first_sentence_decides_nothing():
    found = plant(continuous=0.2, transformer=0.1, discrete=0.3)
    page = write_page(
        {"test": found}, {"rougeL": Interval(0.5, 0.4, 0.6)}, found, SENTENCES, REFERENCES
    )
    assert "transformer beats lead -0.400" in page


def test_facts_that_no_reference_lacks_are_not_decidable(page):
    told = {row[0]: row[3:] for row in read_page("summaries", page)}["jiang-external-facts"]
    assert told == (
        "not decidable here",
        "0 of 1 references of the generated English have such facts",
    )
    found = plant(continuous=0.9, transformer=0.8, discrete=0.7)
    others = REFERENCES.assign(target=["She met Ann in Oslo."])
    page = write_page(
        {"test": found}, {"rougeL": Interval(0.5, 0.4, 0.6)}, found, SENTENCES, others
    )
    told = {row[0]: row[3:] for row in read_page("summaries", page)}["jiang-external-facts"]
    assert told == ("undecided", "not measured")
