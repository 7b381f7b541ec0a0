"""What became of the claims about a figure: one word for the figure, and a line per claim."""

from collections.abc import Sequence
from typing import Any

from tprprobe.claims import find_claim
from tprprobe.figures.catalogue.verdicts import read_verdicts

MISSING, NOT_FOUND = "missing", "not found"
WORST = ("fails", "undecided", "not decidable here", "not comparable", "holds")
JUDGED = "the models of the results pages (docs/verdicts.csv)"


def list_judgements(claims: Sequence[str]) -> list[dict[str, str]]:
    """The claims with what decides each, the printed number, what was measured, and the verdict."""
    rows = read_verdicts()
    return [
        {
            "claim": name,
            "model": row["model"],
            "quotation": find_claim(name).quotation,
            "rule": find_claim(name).statistic,
            "printed": find_claim(name).printed or NOT_FOUND,
            "here": row["reason"],
            "verdict": row["verdict"],
        }
        for name in claims
        for row in rows
        if row["claim"] == name
    ]


def sum_up(judgements: Sequence[dict[str, str]], is_made: bool) -> str:
    """The figure's verdict: missing if it could not be made, not found if no claim about it was,
    else the least favourable of its claims'; what is not decidable here is undecided.
    """
    if not is_made:
        return MISSING
    found = {each["verdict"] for each in judgements}
    worst = next((each for each in WORST if each in found), NOT_FOUND)
    return "undecided" if worst == "not decidable here" else worst


def describe(judgements: Sequence[dict[str, str]], is_made: bool) -> dict[str, Any]:
    """What the JSON file of a figure says of its claims."""
    return {
        "verdict": sum_up(judgements, is_made),
        "judged_on": JUDGED if judgements else None,
        "claims": list(judgements),
    }
