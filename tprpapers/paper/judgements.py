"""What became of the claims about a figure: one word for the figure, and a row per claim."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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

    def distance(row: Mapping[str, Any]) -> int:
        return 0 if row["judged_on"] == ON_FIGURE else 2 - (row["model"] in checkpoints)

    distances = {name: [distance(row) for row in rows if row["claim"] == name] for name in names}
    return [row | {"decides": distance(row) == min(distances[row["claim"]])} for row in rows]


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


def describe(
    judgements: Sequence[dict[str, Any]], is_made: bool, judged_by: str | None = None
) -> dict[str, Any]:
    """What the JSON file of a figure says of its claims, on what those were judged that decide, and which item
    judges what is claimed of this and other figures together.
    """
    bases = [row["judged_on"] for row in judgements if row["decides"] and is_made]
    content = {"verdict": combine_verdicts(judgements, is_made), "judged_on": bases[:1]}
    content["claims"] = list(judgements)
    return content | ({"judged_by": judged_by} if judged_by else {})


def word_verdict(judgement: Mapping[str, Any]) -> str:
    """The verdict of a figure's JSON file as the report has it."""
    if (verdict := judgement["verdict"]) == NO_CLAIM and "judged_by" in judgement:
        return f"no claim of its own; see {judgement['judged_by']}"
    return verdict


def count_verdicts(judgements: Iterable[Mapping[str, Any]]) -> str:
    """How many of the claims of one or more figures have which verdict: ``holds 2, fails 1``.

    A claim counts once, by what a figure shows where that decides it; of several verdicts the least favorable counts.
    """
    rows = [row for judgement in judgements for row in judgement["claims"] if row["decides"]]
    on_figures = {row["claim"] for row in rows if row["judged_on"] == ON_FIGURE}
    verdicts: dict[str, str] = {}
    for row in rows:
        name, verdict = row["claim"], row["verdict"]
        if name not in on_figures or row["judged_on"] == ON_FIGURE:
            verdicts[name] = min(verdict, verdicts.get(name, verdict), key=WORST.index)
    counts = Counter(verdicts.values()).items()
    return ", ".join(f"{verdict} {n}" for verdict, n in counts) or "–"
