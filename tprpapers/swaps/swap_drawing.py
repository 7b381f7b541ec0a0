"""Answers after the vectors of two numbers were exchanged, as shares by exchange."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprpapers.kinds import SWAPS
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.colors import HUES
from tprprobe.figures.legends import legend
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, tidy

TITLES = {
    "polarity": "numerator ↔\ndenominator",
    "argument": "first ↔ second\nargument of −",
    "place": "units ↔ tens\ndigit",
    "same polarity": "same polarity\n(must not change)",
    "agent": "agent ↔\npatient",
    "sum": "arguments of +\n(must not change)",
}
BAR_SEGMENTS = (  # column, name, color, hatch
    ("counterfactual", "the predicted new answer", HUES[5], ""),
    ("other", "another answer", "#d8d8d8", "////"),
    ("original", "the old answer", "white", ""),
)
ORDER = ("none", "question", "role", "embedding role", "filler", "key", "binding", "hidden")
CONTROLS = ("same polarity", "sum")  # exchanges after which the answer stays
NOTE = "Of pairs of questions that the model answers both (n); lines: 95 % intervals of the blue share, over questions."
PLACES = {  # controls, by where the vectors come from
    "elsewhere": "elsewhere: the same vectors exchanged at two other symbols, as far apart",
    "alike": "alike: at another pair of the question with the same surface form",
}


def swap_shares(swaps: pd.DataFrame, kinds: Sequence[str] | None = None) -> Drawing:
    """A panel per kind of swap, a bar per exchange: the shares of the predicted, another and the old answer.

    ``swaps`` has the rows of ``summarize_swaps``; drawn are swaps whose two questions the model
    answers (how many, by model, is in brackets), whole layers, all heads. The mark is the 95 %
    interval of the first share. Without ``kinds`` all that should change an answer.
    """
    rows = swaps[(swaps["subset"] == "answered") & (swaps["head"] == -1)]
    present = [kind for kind in TITLES if kind in {*rows["kind"]} - {*CONTROLS}]
    kinds = kinds or present or list(rows["kind"].unique())
    exchanges = order_exchanges(rows)
    figure = drawing(7 if len(kinds) > 1 else 5, 1.1 + 0.17 * len(exchanges))
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    for kind, axes in zip(kinds, panels, strict=True):
        _draw(axes, rows[rows["kind"] == kind], exchanges)
        counts = rows[(rows["kind"] == kind) & (rows["vectors"] == "none")]["n"]
        n_text = ", ".join(map(str, counts)) or "no"
        tidy(axes)
        title = TITLES.get(kind, kind)
        axes.set_title(title, loc="left", fontsize=8, fontweight="bold", pad=14)
        axes.text(0, 1.01, f"n = {n_text}", transform=axes.transAxes, fontsize=6.5, color=MUTED)
        axes.set(xlim=(0, 1), xlabel="share of answers")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    panels[0].set_yticks(
        range(len(exchanges)), [label_exchange(*exchange) for exchange in exchanges], fontsize=6.5
    )
    panels[0].set_ylim(len(exchanges) - 0.4, -0.6)
    handles = panels[0].get_legend_handles_labels()
    legend(figure, *handles, loc="outside lower center", ncols=3)
    places = {place for *_, place in exchanges}
    figure.put_below([NOTE, *(note for place, note in PLACES.items() if place in places)])
    return figure


def order_exchanges(rows: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """The exchanges by model: none and the question first, then all layers, then one by one."""
    keys = rows[["model", "vectors", "layer", "at"]].drop_duplicates()
    models = {name: i for i, name in enumerate(rows["model"].drop_duplicates())}
    is_pair = keys["at"] == "pair"
    is_drawn = (keys["layer"] == -1) | ((keys["vectors"] != "binding") & is_pair)
    keys = keys[is_drawn & (is_pair | keys["vectors"].isin(["role", "filler"]))]

    def rank(exchange: Any) -> tuple[Any, ...]:
        model, vectors, layer, place = exchange
        return models[model], ORDER.index(vectors), place != "pair", place, layer

    return sorted(keys.itertuples(index=False, name=None), key=rank)


def label_exchange(model: str, vectors: str, layer: int, place: str) -> str:
    names = {
        "none": "no exchange",
        "question": "the new question itself",
        "hidden": "hidden states",
    }
    label = names.get(vectors, f"{vectors}s")
    if vectors not in ("none", "question", "embedding role"):
        label += ", all layers" if layer == -1 else f", layer {layer}"
    return f"{model}: {label}{'' if place == 'pair' else f', {place}'}"


def _draw(axes: Axes, rows: pd.DataFrame, exchanges: list[tuple[str, str, int, str]]) -> None:
    indexed = rows.set_index(["model", "vectors", "layer", "at"])
    offsets = np.zeros(len(exchanges))
    shares = indexed.reindex(pd.MultiIndex.from_tuples(exchanges))
    for column, name, color, hatch in BAR_SEGMENTS:
        width = shares[column].fillna(0).to_numpy(float)
        style: Any = {"color": color, "hatch": hatch, "edgecolor": MUTED, "linewidth": 0.5}
        axes.barh(range(len(exchanges)), width, 0.72, offsets, label=name, **style)
        offsets += width
    names = ["counterfactual_low", "counterfactual", "counterfactual_high"]
    bounds = shares[names].to_numpy(float).T  # low, value, high
    errors = np.clip(np.diff(bounds, axis=0), 0, None)
    style = {"fmt": "none", "ecolor": INK, "elinewidth": 0.9, "capsize": 1.8}
    axes.errorbar(bounds[1], range(len(exchanges)), xerr=errors, **style)


TEXT = "swaps: give --ckpt with folders of `intervene --out`"
SWAPPED = {"swaps": Input(TEXT, partial(load_tables, kind=SWAPS), SWAPS.find_finished)}
SWAP = Maker(swap_shares, inputs=SWAPPED)
