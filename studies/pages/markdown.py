"""The table of verdicts, which pages of results share."""

from studies.templates import table
from tprpapers.claims import Claim, Verdict


def verdict_table(verdicts: list[Verdict]) -> str:
    """The table of claims: the rule for each, the measurement, and the verdict."""
    return table(
        [
            {
                "claim": f"{each.claim.where}: “{each.claim.quotation}”",
                "what decides": _decider(each.claim),
                "printed": each.claim.printed or "–",
                "here": each.reason,
                "verdict": each.outcome,
            }
            for each in verdicts
        ]
    )


def _decider(claim: Claim) -> str:
    """The rule that decides a claim, and whether the question is ours or was amended."""
    marks = ["(ours, the paper does not claim it)"] if claim.ours else []
    marks += [f"(amended {each.date}: {each.why})" for each in claim.amended]
    return " ".join([claim.statistic, *marks])
