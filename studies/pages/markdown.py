"""What pages of results share: tables of texts and of verdicts, in Markdown."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.claims import Verdict
from tprprobe.figures.tables import Table


def table(rows: Sequence[dict[str, str]]) -> str:
    """The rows as Markdown."""
    lines = Table(pd.DataFrame(rows).fillna("–"), "").markdown().splitlines()
    return "\n".join([*lines[2:], ""])


def verdict_table(verdicts: list[Verdict]) -> str:
    """A section: the claims, what decides each, what was measured, and the verdict."""
    rows = [
        {
            "claim": f"{each.claim.where}: “{each.claim.quotation}”",
            "what decides": each.claim.statistic,
            "printed": each.claim.printed or "–",
            "here": each.reason,
            "verdict": each.outcome,
        }
        for each in verdicts
    ]
    return (
        "## Verdicts\n\nThe claims, what decides each and the rules were written down before "
        "(`tprprobe/claims.toml`, `tprprobe/claims.py`).\n\n" + table(rows)
    )
