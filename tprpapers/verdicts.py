"""Verdicts under figures: what became of the paper's claims about a figure, in words.

They are read from the one table of verdicts (``studies/results/verdicts.csv``), which is of the models of the
results pages: the line says so, as a figure may be drawn of others. Tables whose own analysis is the claim's judge
what they show (`huang`).
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TypeVar
from weakref import WeakKeyDictionary

from tprpapers.claims import Evidence, Verdict, find_claim, judge
from tprprobe.figures.scenes import Scene
from tprprobe.figures.style import Drawing
from tprprobe.figures.tables import Table, write_minus
from tprprobe.files import assets
from tprprobe.statistics import Interval

FILE = "verdicts.csv"
MAX_DETAILED = 4  # claims; of more a note gives the outcomes alone
LINE = 150  # characters
HERE = "The paper's claims, judged on what is shown here:"
HEAD = (
    "The paper's claims, judged on the models of the results pages (studies/results/verdicts.csv):"
)

SceneOrTable = TypeVar("SceneOrTable", bound=Scene | Table)
_decided: WeakKeyDictionary[Scene | Table, tuple[Verdict, ...]] = WeakKeyDictionary()
_BAR = "\\|"  # as Markdown has it in a table

_MODULES = ("schlag-interpolation", "schlag-extrapolation", "schlag-every-module")
_SUBSPACES = ("schlag-full-information", "schlag-learned-projection")
_PRODUCT = ("schlag-hadamard-optimal", "schlag-crucial-property")
CLAIMS = {  # what a figure is about; tables that judge their claims themselves are not here
    "schlag-table1": (*_MODULES[:2], "schlag-state-of-the-art", "schlag-same-weights"),
    "schlag-fig2": tuple(
        f"schlag-{name}"
        for name in (
            "polarity-clusters", "fractions-of-fractions", "ones-digit-roles", "structural-clusters"
        )
    ),
    "schlag-fig3": tuple(
        f"schlag-{name}"
        for name in (
            "second-argument-to", "second-argument-of", "good-approximation", "skipped-numerator"
        )
    ),
    "schlag-fig4": _MODULES[::2],
    "schlag-fig5": _MODULES[1:],
    "schlag-sec6.1": _SUBSPACES,
    "schlag-sec6.1-table": _SUBSPACES,
    "schlag-sec6.2": ("schlag-standard-ambiguous", "schlag-tp-unambiguous", "schlag-standard-routes"),
    "schlag-sec6.2-trained": ("schlag-binding-trained",),
    "schlag-sec6.2-trained-table": ("schlag-binding-trained",),
    "schlag-sec7": _PRODUCT,
    "schlag-sec7-table": _PRODUCT,
    "matched-study": (
        "schlag-interpolation", "schlag-same-weights", "schlag-diagonal-sufficient",
        "schlag-full-product-better",
    ),
    "swap": ("schlag-used",),
    "jiang-table2": (
        "jiang-table2-better", "jiang-table2-cnndm", "jiang-tptc-worst", "jiang-largest-on-xsum"
    ),
    "jiang-table3": (
        "jiang-human-grammar-xsum", "jiang-human-saliency-wikihow", "jiang-human-overall-wikihow"
    ),
    "jiang-unfaithful": ("jiang-external-facts",),
    "jiang-table4": tuple(
        f"jiang-{name}"
        for name in (
            "pos-rises", "pos-role", "pos-filler-degrades", "pos-tpr-aggregates", "pos-last-three",
            "every-layer", "dep-srl-better", "dep-srl-late", "dep-srl-tpr-like-filler",
            "nel-roles-poorer", "nel-tpr-similar", "nel-better", "filler-semantic",
        )
    ),
    "jiang-discreteness": ("jiang-discrete",),
    "decomposition": tuple(
        f"mccoy-{name}"
        for name in (
            "bidirectional-roles", "left-favoured", "reversal", "interleaving", "sorting-bag",
            "bag-fails", "tree-roles", "decoder-dictates",
        )
    ),
    "huang-table1": ("huang-table1", "huang-bleu-n", "huang-training-time"),
}  # fmt: skip
OWN_CLAIMS = {  # claims that a table judges itself, on its own store
    "huang-table2": ("huang-nominal-verbal", "huang-initial-word"),
    "huang-table3": (
        "huang-first-position", "huang-second-position", "huang-dominant-category",
        "huang-spatial-prepositions", "huang-clusters-one-side", "huang-hybrid-roles",
    ),
    "huang-regions": ("huang-pos-regions", "huang-pos-prediction"),
    "huang-subjects": ("huang-subject-object",),
    "huang-swap": ("huang-plan",),
}  # fmt: skip
JUDGED_BY = {
    f"huang-fig{n}": "huang-regions" for n in range(3, 8)
}  # what claims are not about alone


def judge_cases(
    cases: Mapping[str, Mapping[str, Interval]],
    unit: str,
    units: int,
    void: Mapping[str, str] = {},
) -> list[Verdict]:
    """The verdicts on claims, by claim id, with intervals over so many units (questions, documents …).

    ``void`` has the claims whose alternative could not have occurred, and why.
    """
    return [
        judge(find_claim(name), Evidence(intervals, unit, units, void=void.get(name, "")))
        for name, intervals in cases.items()
    ]


def with_verdicts(picture: SceneOrTable, verdicts: Sequence[Verdict]) -> SceneOrTable:
    """The figure or table; `verdicts_of` returns the verdicts on claims that its numbers decide."""
    _decided[picture] = tuple(verdicts)
    return picture


def verdicts_of(drawing: Drawing | Table | None) -> tuple[Verdict, ...]:
    """The verdicts on claims that the numbers of a figure or table decide."""
    picture = drawing if isinstance(drawing, Table) else getattr(drawing, "scene", None)
    return () if picture is None else _decided.get(picture, ())


def add_verdicts(drawing: Drawing | Table, claims: Sequence[str]) -> Drawing | Table:
    """The figure or table with the verdicts on these claims under it: a verdict on what it shows, else that
    of the results pages.

    Raises:
        InputError: there is no such claim.
    """
    decided, is_table = verdicts_of(drawing), isinstance(drawing, Table)
    rows = [_row(verdict) for verdict in decided]
    decided_ids = {row["claim"] for row in rows}
    lines = [HERE, *_word(rows, is_table)] if rows else []
    lines += summarize_verdicts([name for name in claims if name not in decided_ids], is_table)
    if not lines:
        return drawing
    lines = [*map(write_minus, lines)]
    if isinstance(drawing, Table):
        wrapped = [row for line in lines for row in wrap(line, LINE, subsequent_indent="  ")]
        caption = "\n".join(filter(None, [drawing.caption, *wrapped]))
        return with_verdicts(replace(drawing, caption=caption), decided)
    drawing.put_below(lines)
    return drawing


def summarize_verdicts(claims: Sequence[str], is_quoted: bool = False) -> list[str]:
    """A line per claim (and model) with its outcome and numbers, or one per outcome where there are
    many; empty without claims or without the table.
    """
    for name in claims:
        find_claim(name)
    rows = [row for row in read_verdicts() if row["claim"] in claims]
    if not rows:
        return []
    if len(claims) <= MAX_DETAILED:
        return [HEAD, *_word(rows, is_quoted)]
    outcomes = dict.fromkeys(row["verdict"] for row in rows)
    return [HEAD, *(
        f"{outcome}: {', '.join(_name(row) for row in rows if row['verdict'] == outcome)}."
        for outcome in outcomes
    )]  # fmt: skip


def _row(verdict: Verdict) -> dict[str, str]:
    reason = verdict.reason
    return {"claim": verdict.claim.id, "model": "", "verdict": verdict.outcome, "reason": reason}


def _word(rows: Sequence[Mapping[str, str]], is_quoted: bool) -> list[str]:
    """A line per row, the first of a claim with its quotation if these are to be quoted."""
    names = [row["claim"] for row in rows]
    quotations = [
        f" (“{find_claim(name).quotation}”)" if is_quoted and name not in names[:i] else ""
        for i, name in enumerate(names)
    ]
    return [
        f"{_name(row)}{quotation}: {row['verdict']}. {row['reason'].replace(_BAR, '|')}"
        for row, quotation in zip(rows, quotations, strict=True)
    ]


def _name(row: Mapping[str, str]) -> str:
    return row["claim"] + (f" ({row['model']})" if row["model"] else "")


def read_verdicts() -> list[dict[str, str]]:
    """The rows of the table of verdicts: claim, page, model, verdict, reason; none without the table."""
    files = [root / FILE for root in assets.roots("studies/results") if (root / FILE).is_file()]
    if not files:
        return []
    with files[0].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
