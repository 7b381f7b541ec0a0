"""The page *What we learnt*: its sentences are written, every number and answer is read from the verdicts.

A sentence that takes an outcome for granted says so in ASSUMED; where the verdict has turned, the page
is not written, and the line says which sentence to write anew.
"""

import re
from pathlib import Path

import pandas as pd

from studies.pages import study_page, summaries_page
from studies.pages.deciding import find_longest
from studies.pages.own_decompositions import answer_model
from studies.pages.seed_tables import tell_one_hot, tell_peaks
from studies.pages.state_tables import KEPT
from studies.summary_roles.records import load_companions, load_roles
from studies.templates import fill
from tprpapers.claims import load_claims
from tprprobe.errors import InputError
from tprprobe.files.writing import write_file

FILE = "what-we-learnt.md"
PAPERS = ("schlag", "jiang", "huang")
ASSUMED = {
    "schlag-interpolation": "fails",
    "schlag-full-product-better": "holds",
    "schlag-structural-clusters": "holds",
    "schlag-polarity-clusters": "holds",
    "schlag-role-specific": "fails",
    "schlag-good-approximation": "fails",
    "schlag-used": "holds",
    "schlag-hadamard-optimal": "fails",
    "schlag-tp-unambiguous": "holds",
    "jiang-pos-role": "holds",
    "jiang-filler-semantic": "holds",
    "jiang-discrete": "fails",
    "jiang-table2-better": "undecided",
    "huang-hybrid-roles": "holds",
    "huang-nominal-verbal": "fails",
    "huang-plan": "fails",
    "mccoy-bidirectional-roles": "holds",
    "mccoy-left-favoured": "holds",
}
NUMBER = re.compile(r"-?\d[\d.]*(?: \[[^]]*\])?")


def write_learnt(docs: Path, verdicts: pd.DataFrame) -> Path:
    """The page, written beside the pages whose verdicts it tells.

    Raises:
        InputError: a verdict is not what a sentence takes for granted.
    """
    return write_file(docs / FILE, tell_learnt(verdicts))


def tell_learnt(verdicts: pd.DataFrame) -> str:
    """The text of the page."""
    for claim, outcome in ASSUMED.items():
        found = set(verdicts.loc[verdicts["claim"] == claim, "verdict"])
        if found != {outcome}:
            raise InputError(
                f"{FILE} takes for granted that {claim} {outcome}, and it is {', '.join(sorted(found))}: "
                "write its sentence in learnt.md.j2 anew, and ASSUMED in learnt.py"
            )
    papers = verdicts[verdicts["claim"].str.split("-").str[0].isin(PAPERS)]
    counts = papers.drop_duplicates(["claim", "verdict"])["verdict"].value_counts()
    roles, beside = load_roles(), load_companions()
    return fill(
        Path(__file__).parent,
        "learnt.md.j2",
        claims=papers["claim"].nunique(),
        counts=counts.to_dict(),
        study=study_page.tell_shipped(),
        published=study_page.tell_published(),
        amended=sum(
            bool(claim.amended) for name, claim in load_claims().items() if name.startswith(PAPERS)
        ),
        differing=find_differing(papers),
        peaks=" ".join(tell_peaks(roles, beside)),
        one_hot=tell_one_hot(find_longest(roles, beside)),
        own=answer_model("tpt-c-arithmetic", KEPT),
        summaries=summaries_page.tell_shipped(),
        syntax=verdicts.loc[verdicts["claim"] == "jiang-syntax-in-roles", "verdict"].iloc[0],
        number=lambda claim, case="", model="": find_number(verdicts, claim, case, model),
    )


def find_differing(verdicts: pd.DataFrame) -> list[str]:
    """The claims whose verdict is another for another model."""
    kinds = verdicts.groupby("claim", sort=False)["verdict"].nunique()
    return [str(claim) for claim in kinds.index[kinds > 1]]


def find_number(verdicts: pd.DataFrame, claim: str, case: str = "", model: str = "") -> str:
    """The first number of a verdict's reason after ``case``, with its interval if it has one.

    Raises:
        InputError: the reason has none.
    """
    rows = verdicts[(verdicts["claim"] == claim) & (verdicts["model"].fillna("") == model)]
    told = str(rows["reason"].iloc[0]) if len(rows) else ""
    after = told[told.find(case) + len(case) :] if case in told else ""
    number = NUMBER.search(re.sub(r"^\s*head \d+", "", after))
    if number is None:
        raise InputError(
            f"the verdict on {claim} ({model or 'all models'}) has no number of {case!r}"
        )
    return number[0]
