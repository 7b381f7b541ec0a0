"""The table of verdicts and shares with their intervals, which pages of results share."""

from dataclasses import replace

import numpy as np

from studies.templates import table
from tprpapers.claims import Claim, Verdict
from tprprobe.statistics import Interval, interval_text


def verdict_table(verdicts: list[Verdict]) -> str:
    """The table of claims: the rule for each, the measurement, and the verdict."""
    return table(
        [
            {
                "claim": f"{verdict.claim.where}: “{verdict.claim.quotation}”",
                "what decides": _decider(verdict.claim),
                "printed": verdict.claim.printed or "–",
                "here": verdict.reason,
                "verdict": verdict.outcome,
            }
            for verdict in verdicts
        ]
    )


def _decider(claim: Claim) -> str:
    """The rule that decides a claim, and whether the question is ours or was amended."""
    marks = ["(ours, the paper does not claim it)"] if claim.ours else []
    marks += [f"(amended {amendment.date}: {amendment.why})" for amendment in claim.amended]
    return " ".join([claim.statistic, *marks])


def share_text(interval: Interval, form: str = ".3f", scale: float = 1, unit: str = "") -> str:
    """:func:`interval_text` of a share or of a score from 0 to 1: its interval ends there, too.

    >>> share_text(Interval(0.98, 0.95, 1.01), ".0f", 100)
    '98 [95, 100]'
    """
    low, high = (float(np.clip(bound, 0, 1)) for bound in (interval.low, interval.high))
    return interval_text(replace(interval, low=low, high=high), form, scale, unit)
