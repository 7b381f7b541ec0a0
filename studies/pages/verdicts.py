"""The one table of verdicts: every claim is decided on one page, and read from that page.

``studies/results/verdicts.csv`` has a row for each claim (of captions for each claim and model).
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tprpapers.claims import Claim, judge, load_claims

FILE = "verdicts.csv"
COLUMNS = ["claim", "page", "model", "verdict", "reason"]
PAGE_OF_PAPER = {
    "schlag": "arithmetic",
    "jiang": "probing",
    "huang": "captions",
    "mccoy": "decomposition",
}
OTHER_PAGE = {
    "schlag-interpolation": "study",
    "schlag-same-weights": "study",
    "schlag-diagonal-sufficient": "study",
    "schlag-full-product-better": "study",
    "schlag-extrapolation": "study",
    "schlag-better-insights": "study",
    "schlag-used": "interventions",
    "jiang-table2-better": "summaries",
    "jiang-table2-cnndm": "summaries",
    "jiang-tptc-worst": "summaries",
    "jiang-largest-on-xsum": "summaries",
    "jiang-human-grammar-xsum": "summaries",
    "jiang-human-saliency-wikihow": "summaries",
    "jiang-human-overall-wikihow": "summaries",
    "jiang-external-facts": "summaries",
    "jiang-human-metrics": "summaries",
    "jiang-abstractive": "summaries",
    "jiang-traced-facts": "summaries",
    "jiang-grammatical": "summaries",
    "jiang-factual": "summaries",
}
UNDECIDED, UNDECIDABLE = "undecided", "not decidable here"
NO_PAGE = {  # claim → its verdict, and why no page decides it
    **{
        name: (verdict.outcome, verdict.reason)
        for name in (
            "schlag-state-of-the-art",
            "schlag-every-module",
            "schlag-steady-progress",
            "schlag-more-steps",
            "schlag-module-counts",
            "schlag-every-module-best",
            "schlag-beats-earlier",
        )
        for verdict in [judge(load_claims()[name], None)]
    },
    "schlag-relational-structure": (
        UNDECIDABLE,
        "it names no relation and no number; its two halves are decided by themselves: "
        "schlag-structural-clusters (learned) and schlag-used (task-relevant)",
    ),
    "schlag-several-numerals": (
        UNDECIDABLE,
        "two chosen maps of one head show that it can be, which any soft attention grants; how often "
        "the digits of denominators look at their '/' is schlag-good-approximation",
    ),
}
SENTENCE = re.compile(r"^\*\*Verdict: (.+?)\*\*, (.*)\.$", re.M)
HEADING = re.compile(r"##?#? ")
MODEL = re.compile(r"### `(.+)`")
NOT_YET = "its page was made before the claim was written so: make the page anew"


def claims_of(page: str) -> list[Claim]:
    """The claims that a page decides, in the order of the file of claims."""
    return [claim for claim in load_claims().values() if page_of(claim.id) == page]


def page_of(name: str) -> str:
    """The page that decides a claim; an empty text if none does."""
    if name in NO_PAGE:
        return ""
    return OTHER_PAGE.get(name) or PAGE_OF_PAPER[name.partition("-")[0]]


def write_verdicts(results: Path) -> Path:
    """The table, written beside the pages that it was read from."""
    read_pages(results).to_csv(results / FILE, index=False)
    return results / FILE


def read_pages(results: Path) -> pd.DataFrame:
    """The verdicts of the pages in a folder, in the order of the claims; also on claims without a
    page.
    """
    pages = {*PAGE_OF_PAPER.values(), *OTHER_PAGE.values()}
    rows = [
        row
        for file in sorted(results.glob("*.md"))
        if file.stem in pages
        for row in read_page(file.stem, file.read_text("utf-8"))
    ]
    rows += [(name, "", "", verdict, why) for name, (verdict, why) in NO_PAGE.items()]
    order, decided = list(load_claims()), {row[0] for row in rows}
    rows += [
        (claim, page_of(claim), "", UNDECIDED, NOT_YET) for claim in order if claim not in decided
    ]
    return pd.DataFrame(sorted(rows, key=lambda row: order.index(row[0])), columns=COLUMNS)


def read_page(page: str, text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """The verdicts that a page gives on its own claims, as rows of the table."""
    claims, model = claims_of(page), ""
    for line in text.splitlines():
        if HEADING.match(line):
            model = heading[1] if (heading := MODEL.fullmatch(line)) else ""
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and "“" in cells[0]:
            for claim in claims:
                if re.fullmatch(rf"{re.escape(claim.statistic)}( \((ours|amended).*)?", cells[1]):
                    yield claim.id, page, model, cells[4], cells[3]
    for verdict, reason in SENTENCE.findall(text):
        yield claims[0].id, page, "", verdict, reason
