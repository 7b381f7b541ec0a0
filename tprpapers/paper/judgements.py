"""What became of the claims about a figure: one word for the figure, and a row per claim."""

from collections.abc import Sequence
from typing import Any

from tprpapers.claims import Verdict, find_claim
from tprpapers.verdicts import read_verdicts

MISSING, NO_CLAIM = "missing", "no claim"
WORST = ("fails", "undecided", "not decidable here", "not comparable", "holds")
ON_FIGURE, ON_PAGES = (
    "what is shown here",
    "the models of the results pages (studies/results/verdicts.csv)",
)


def list_judgements(
    claims: Sequence[str], figure_verdicts: Sequence[Verdict] = (), checkpoints: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The claims with what decides each, the printed number, what was measured, on what, and the verdict.

    Those that were judged on the figure's own numbers come first, then those of the results pages. A row
    ``decides`` that is of these numbers; without such, one of the pages about these checkpoints; without such, any.
    """
    names = dict.fromkeys([*claims, *(verdict.claim.id for verdict in figure_verdicts)])
    rows = [
        _judgement(verdict.claim.id, "", ON_FIGURE, verdict.reason, verdict.outcome)
        for verdict in figure_verdicts
    ]
    rows += [
        _judgement(name, row["model"], ON_PAGES, row["reason"], row["verdict"])
        for name in names
        for row in read_verdicts()
        if row["claim"] == name
    ]
    nearest: dict[str, int] = {}
    distances = [
        0 if row["judged_on"] == ON_FIGURE else 2 - (row["model"] in checkpoints) for row in rows
    ]
    for row, distance in zip(rows, distances, strict=True):
        nearest[row["claim"]] = min(distance, nearest.get(row["claim"], distance))
    return [
        row | {"decides": distance == nearest[row["claim"]]}
        for row, distance in zip(rows, distances, strict=True)
    ]


def _judgement(name: str, model: str, judged_on: str, reason: str, verdict: str) -> dict[str, Any]:
    claim = find_claim(name)
    return {
        "claim": name,
        "where": claim.where,
        "quotation": claim.quotation,
        "rule": claim.statistic,
        "printed": claim.printed or "not found",
        "judged_on": judged_on,
        "model": model,
        "here": reason,
        "verdict": verdict,
    }


def combine_verdicts(judgements: Sequence[dict[str, Any]], is_made: bool) -> str:
    """The figure's verdict: missing if it could not be made, no claim if the paper has none about it,
    else the least favorable of those that decide; what is not decidable here is undecided.
    """
    if not is_made:
        return MISSING
    outcomes = {judgement["verdict"] for judgement in judgements if judgement["decides"]}
    worst = next((outcome for outcome in WORST if outcome in outcomes), NO_CLAIM)
    return "undecided" if worst == "not decidable here" else worst


def describe(judgements: Sequence[dict[str, Any]], is_made: bool) -> dict[str, Any]:
    """What the JSON file of a figure says of its claims, and on what those were judged that decide."""
    bases = [row["judged_on"] for row in judgements if row["decides"] and is_made]
    verdict = combine_verdicts(judgements, is_made)
    return {"verdict": verdict, "judged_on": bases[:1], "claims": list(judgements)}
