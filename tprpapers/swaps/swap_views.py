"""Finished exchanges of two numbers' vectors, as the dashboard shows them."""

from functools import partial
from pathlib import Path

import pandas as pd

from tprpapers.kinds import SWAPS
from tprpapers.swaps.swap_drawing import TITLES, list_ways, swap_shares, way_label
from tprprobe.dashboard.interventions import EditView
from tprprobe.dashboard.statements import Statement, percent, top
from tprprobe.dashboard.view import View, measured
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.scenes import Dots

ANSWERS = {"counterfactual": "as predicted", "other": "another answer", "original": "as before"}


def read_kinds(folder: Path) -> dict[str, pd.DataFrame]:
    """The table of every kind of exchange of a run."""
    tables = load_tables([folder], SWAPS).groupby("kind", sort=False)
    return {str(kind): rows for kind, rows in tables}


def show_swaps(rows: pd.DataFrame, kind: str) -> View:
    """A line per way of exchanging: the shares of the predicted, another and the old answer."""
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1)]
    ways = list_ways(chosen)
    at = pd.MultiIndex.from_tuples(ways)
    found = chosen.set_index(["model", "vectors", "layer", "at"]).reindex(at)
    is_one = len({way[0] for way in ways}) == 1
    names = [way_label(*way).removeprefix(f"{way[0]}: " if is_one else "\0") for way in ways]
    found = found.assign(name=names).reset_index(drop=True)
    parts = [measured(found, each, group=told) for each, told in ANSWERS.items()]
    dots = pd.concat(parts, ignore_index=True).reindex(columns=["name", "group", "value", "low", "high"])  # fmt: skip
    for end in ("low", "high"):
        dots[end] = dots[end].fillna(dots["value"])
    dots = Dots(dots, "share of answers")
    n = int(found["n"].max()) if len(found) else 0
    note = f"{n} exchanges whose two questions the model answers; whole layers, all heads."
    title = f"Answers after an exchange: {TITLES.get(kind, kind)}".replace("\n", " ")
    return View(title, chosen, dots, partial(swap_shares, rows, [kind]), note)


def summarize_answers(rows: pd.DataFrame, kind: str) -> Statement:
    """How often an exchange gave the predicted answer."""
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1) & (rows["at"] == "pair")]
    whole = chosen[(chosen["layer"] == -1) & ~chosen["vectors"].isin(["none", "question"])]
    whole = whole[~whole["model"].astype(str).str.startswith("untrained")]
    if whole.empty:
        why = "whose two questions the model answers: exchanges cannot be evaluated."
        return Statement(f"No pair of {kind} {why}")
    best = top(whole, "counterfactual")
    return Statement(
        f"If two numbers exchange {best['vectors']} vectors ({kind}), the model writes the answer that exact arithmetic "
        f"predicts in {percent(best, 'counterfactual', 0)} of {best['n']} exchanges, most of {len(whole)} kinds of vectors."
    )


VIEW = EditView(SWAPS, "counterfactual", read_kinds, show_swaps, summarize_answers)
