"""The one table of verdicts, and the page that shows it: every claim is decided by one study.

``results/verdicts.csv`` has a row for each claim (of captions for each claim and model or data).
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from studies.templates import fill, table
from tprpapers.claims import Claim, Verdict, judge, load_claims

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = ["claim", "study", "model", "verdict", "reason"]
STUDIES = tomllib.loads(Path(__file__).with_name("studies.toml").read_text("utf-8"))
UNDECIDABLE = "not decidable here"
UNMEASURED = {  # claims that no study decides, and why
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
}
Judged = Iterable[tuple[str, Verdict]]  # the model or data that was judged, and the verdict


def study_of(name: str) -> str:
    """The study that decides a claim: one that lists it, else its paper's; an empty text if none does."""
    if name in UNMEASURED:
        return ""
    listed = [study for study, facts in STUDIES.items() if name in facts.get("claims", ())]
    paper = name.partition("-")[0]
    return (listed or [study for study, facts in STUDIES.items() if facts.get("paper") == paper])[0]


def claims_of(study: str) -> list[Claim]:
    """The claims that a study decides, in the order of the file of claims."""
    return [claim for claim in load_claims().values() if study_of(claim.id) == study]


def read_table() -> pd.DataFrame:
    """The table of verdicts that ships."""
    return pd.read_csv(RESULTS / "verdicts.csv", keep_default_na=False)


def tabulate(study: str, judged: Judged) -> pd.DataFrame:
    """The rows of the verdicts of a study."""
    rows = [(v.claim.id, study, model, v.outcome, v.reason) for model, v in judged]
    return pd.DataFrame(rows, columns=COLUMNS)


def renew_rows(verdicts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table with a study's rows in place of its earlier ones, in the order of the claims."""
    unmeasured = pd.DataFrame(
        [(name, "", "", *verdict) for name, verdict in UNMEASURED.items()], columns=COLUMNS
    )
    others = verdicts[~verdicts["study"].isin(["", *rows["study"]])]
    order = {name: i for i, name in enumerate(load_claims())}
    joined = pd.concat([others, rows, unmeasured], ignore_index=True)
    return joined.sort_values("claim", key=lambda names: names.map(order), kind="stable", ignore_index=True)  # fmt: skip


def write_page(verdicts: pd.DataFrame) -> str:
    """The page on the claims: a section a study, with its answer and its verdicts."""
    sections = [facts | _section(verdicts, study) for study, facts in STUDIES.items()]
    return fill(Path(__file__).parent, "claims.md.j2", sections=sections, rest=_section(verdicts, ""))  # fmt: skip


def _section(verdicts: pd.DataFrame, study: str) -> dict[str, str]:
    rows = verdicts[verdicts["study"] == study]
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in rows["verdict"].value_counts().items())
    return {
        "outcomes": f"{len(rows)} verdicts: {outcomes}",
        "verdicts": table([_row(row) for row in rows.to_dict("records")]),
    }


def _row(row: dict) -> dict[str, str]:
    """A claim with its quotation, the rule that decides it, what was measured, and the verdict."""
    claim = load_claims()[row["claim"]]
    marks = ["(ours, the paper does not claim it)"] if claim.ours else []
    marks += [f"(amended {amendment.date}: {amendment.why})" for amendment in claim.amended]
    return {
        "claim": f"{claim.where}: “{claim.quotation}”",
        "what decides": " ".join([claim.statistic, *marks]),
        "printed": claim.printed or "–",
        **({"of": f"`{row['model']}`"} if row["model"] else {}),
        "here": row["reason"],
        "verdict": row["verdict"],
    }
