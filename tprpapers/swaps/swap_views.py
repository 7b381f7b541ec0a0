"""Finished exchanges of two numbers' vectors, as the dashboard shows them."""

from pathlib import Path

import pandas as pd

from tprpapers.kinds import SWAPS
from tprpapers.swaps.number_pairs import HARMLESS, PAIRS
from tprpapers.swaps.swap_drawing import TITLES, swap_shares
from tprprobe.dashboard.interventions import EditView
from tprprobe.dashboard.statements import Statement, percent, top
from tprprobe.dashboard.view import View
from tprprobe.figures.catalogue.loaders import load_tables


def read_kinds(folder: Path) -> dict[str, pd.DataFrame]:
    """The table of every kind of exchange of a run."""
    tables = load_tables([folder], SWAPS).groupby("kind", sort=False)
    return {str(kind): rows for kind, rows in tables}


def show_swaps(rows: pd.DataFrame, kind: str) -> View:
    """A bar per exchange: the shares of the predicted, another and the old answer."""
    scene = swap_shares(rows, [kind])
    answered_rows = rows[(rows["subset"] == "answered") & (rows["head"] == -1)]
    title = f"Answers after an exchange: {TITLES.get(kind, kind)}"
    return View(title, answered_rows, scene, scene.note)


def summarize_answers(rows: pd.DataFrame, kind: str) -> Statement:
    """How often an exchange gave the predicted answer."""
    pair_rows = rows[(rows["subset"] == "answered") & (rows["head"] == -1) & (rows["at"] == "pair")]
    all_layers = pair_rows[
        (pair_rows["layer"] == -1) & ~pair_rows["vectors"].isin(["none", "question"])
    ]
    all_layers = all_layers[~all_layers["model"].astype(str).str.startswith("untrained")]
    if all_layers.empty:
        reason = "whose two questions the model answers: exchanges cannot be evaluated."
        return Statement(f"No pair of {kind} {reason}")
    best, pair = top(all_layers, "counterfactual"), PAIRS.get(kind, kind)
    right = (
        "keeps its answer, as it must,"
        if kind in HARMLESS
        else "writes the answer of exact arithmetic"
    )
    return Statement(
        f"If {pair} exchange vectors, the model {right} in {percent(best, 'counterfactual', 0)} of {best['n']} exchanges "
        f"of {best['vectors']} vectors of all layers."
    )


VIEW = EditView(SWAPS, "counterfactual", read_kinds, show_swaps, summarize_answers)
