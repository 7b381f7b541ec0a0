"""Finished exchanges of two numbers' vectors, as the dashboard shows them."""

from functools import partial
from pathlib import Path

import pandas as pd

from tprpapers.kinds import SWAPS
from tprpapers.swaps.number_pairs import HARMLESS, PAIRS
from tprpapers.swaps.swap_drawing import TITLES, label_exchange, order_exchanges, swap_shares
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
    """A line per exchange: the shares of the predicted, another and the old answer."""
    answered_rows = rows[(rows["subset"] == "answered") & (rows["head"] == -1)]
    exchanges = order_exchanges(answered_rows)
    index = pd.MultiIndex.from_tuples(exchanges)
    shares = answered_rows.set_index(["model", "vectors", "layer", "at"]).reindex(index)
    is_one = len({exchange[0] for exchange in exchanges}) == 1
    names = [
        label_exchange(*exchange).removeprefix(f"{exchange[0]}: " if is_one else "\0")
        for exchange in exchanges
    ]
    shares = shares.assign(name=names).reset_index(drop=True)
    tables = [measured(shares, column, group=label) for column, label in ANSWERS.items()]
    dots = pd.concat(tables, ignore_index=True).reindex(columns=["name", "group", "value", "low", "high"])  # fmt: skip
    for bound in ("low", "high"):
        dots[bound] = dots[bound].fillna(dots["value"])
    dots = Dots(dots, "share of answers")
    n = int(shares["n"].max()) if len(shares) else 0
    note = f"{n} exchanges whose two questions the model answers; whole layers, all heads."
    title = f"Answers after an exchange: {TITLES.get(kind, kind)}".replace("\n", " ")
    return View(title, answered_rows, dots, note, partial(swap_shares, rows, [kind]))


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
        f"of {best['vectors']} vectors, and less often with the {len(all_layers) - 1} other kinds of vectors."
    )


VIEW = EditView(SWAPS, "counterfactual", read_kinds, show_swaps, summarize_answers)
