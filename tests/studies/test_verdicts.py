"""The one table of verdicts: every claim is in it, on the page that decides it, as the page says."""

from pathlib import Path

import pandas as pd

from studies.pages.__main__ import PAGES
from studies.pages.verdicts import (
    FILE,
    NO_PAGE,
    OTHER_PAGE,
    claims_of,
    page_of,
    read_page,
    read_pages,
)
from tprpapers.claims import load_claims

RESULTS = Path(__file__).parents[2] / "studies/results"
TABLE = """## Verdicts

### `model-a`

| claim | what decides | printed | here | verdict |
| --- | --- | --- | --- | --- |
| Sec. 1: “{quotation}” | {statistic} (amended 2026-01-01: a reason) | – | 0.5 (of \\| 3) | holds |
| Sec. 1: “{other.quotation}” | {other.statistic} | – | 0.5 | fails |
"""


def test_every_claim_has_one_page_or_a_reason():
    claims = load_claims()
    assert {*OTHER_PAGE, *NO_PAGE} <= claims.keys()
    assert not OTHER_PAGE.keys() & NO_PAGE.keys()
    for name in claims:
        assert (page_of(name) in PAGES) != (name in NO_PAGE), name
    assert sum(len(claims_of(page)) for page in PAGES) == len(claims) - len(NO_PAGE)


def test_a_page_decides_only_its_own_claims():
    caption_claim, study_claim = claims_of("captions")[0], claims_of("study")[0]
    text = TABLE.format(
        quotation=caption_claim.quotation, statistic=caption_claim.statistic, other=study_claim
    )
    rows = list(read_page("captions", text))
    assert rows == [(caption_claim.id, "captions", "model-a", "holds", r"0.5 (of \| 3)")]
    assert [row[0] for row in read_page("study", text)] == [study_claim.id]
    after = text.replace("| Sec", "\n### Of no model\n| Sec", 1)
    assert [row[2] for row in read_page("captions", after)] == [""]


def test_the_table_that_ships_is_what_the_pages_say():
    shipped = pd.read_csv(RESULTS / FILE, keep_default_na=False)
    pd.testing.assert_frame_equal(shipped, read_pages(RESULTS))
    assert not shipped.duplicated(["claim", "model"]).any()
    assert shipped.groupby("claim")["page"].nunique().eq(1).all()
    assert set(shipped["claim"]) == set(load_claims())
