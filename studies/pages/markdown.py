"""What pages of results share: tables of verdicts, and numbers with their intervals."""

from studies.templates import table
from tprprobe.claims import Verdict


def verdict_table(verdicts: list[Verdict]) -> str:
    """The claims, what decides each, what was measured, and the verdict."""
    return table(
        [
            {
                "claim": f"{each.claim.where}: “{each.claim.quotation}”",
                "what decides": each.claim.statistic,
                "printed": each.claim.printed or "–",
                "here": each.reason,
                "verdict": each.outcome,
            }
            for each in verdicts
        ]
    )
