"""Answers after the vectors of two numbers were exchanged, or their bindings, as shares by exchange."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprpapers.kinds import SWAPS
from tprprobe.errors import InputError
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.style import HUES, INK, MUTED, Drawing, drawing, legend, tidy

TITLES = {
    "polarity": "numerator ↔\ndenominator",
    "argument": "first ↔ second\nargument of −",
    "place": "units ↔ tens\ndigit",
    "same polarity": "same polarity\n(must not change)",
    "agent": "agent ↔\npatient",
    "sum": "arguments of +\n(must not change)",
}
PARTS = (  # column, name, color, hatch
    ("counterfactual", "the predicted new answer", HUES[5], ""),
    ("other", "another answer", "#d8d8d8", "////"),
    ("original", "the old answer", "white", ""),
)
ORDER = ("none", "question", "role", "embedding role", "filler", "key", "binding", "hidden")
SURGERY = "surgery"
CONTROLS = ("same polarity", "sum")  # exchanges after which the answer stays
NOTE = "Of pairs of questions that the model answers both (n); lines: 95 % intervals of the blue share, over questions."
PLACES = {  # controls, by where the vectors come from
    "elsewhere": "elsewhere: the same vectors exchanged at two other symbols, as far apart",
    "alike": "alike: at another pair of the question with the same surface form",
}


def swap_shares(
    swaps: pd.DataFrame, kinds: Sequence[str] | None = None, surgery: bool = False
) -> Drawing:
    """A panel per kind of swap, a bar per way: the shares of the predicted, another and the old answer.

    ``swaps`` has the rows of ``summarize_swaps``; drawn are swaps whose two questions the model
    answers (how many, by model, is in brackets), whole layers, all heads. The mark is the 95 %
    interval of the first share. Without ``kinds`` all that should change an answer. ``surgery`` draws
    the ways that exchange bindings of a decomposition, in place of those that exchange vectors.
    """
    if surgery and not swaps["at"].str.startswith(SURGERY).any():
        raise InputError(
            'these swaps have no surgery: put surgery = "left" (a scheme of roles) into the recipe'
        )
    rows = swaps[(swaps["subset"] == "answered") & (swaps["head"] == -1)]
    found = [kind for kind in TITLES if kind in {*rows["kind"]} - {*CONTROLS}]
    kinds = kinds or found or list(rows["kind"].unique())
    ways = list_ways(rows, surgery)
    figure = drawing(7 if len(kinds) > 1 else 5, 1.1 + 0.17 * len(ways))
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    for kind, axes in zip(kinds, panels, strict=True):
        _draw(axes, rows[rows["kind"] == kind], ways)
        counts = rows[(rows["kind"] == kind) & (rows["vectors"] == "none")]["n"]
        counted = ", ".join(map(str, counts)) or "no"
        tidy(axes)
        title = TITLES.get(kind, kind)
        axes.set_title(title, loc="left", fontsize=8, fontweight="bold", pad=14)
        axes.text(0, 1.01, f"n = {counted}", transform=axes.transAxes, fontsize=6.5, color=MUTED)
        axes.set(xlim=(0, 1), xlabel="share of answers")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    panels[0].set_yticks(range(len(ways)), [way_label(*way) for way in ways], fontsize=6.5)
    panels[0].set_ylim(len(ways) - 0.4, -0.6)
    handles = panels[0].get_legend_handles_labels()
    legend(figure, *handles, loc="outside lower center", ncols=3)
    drawn = {at for *_, at in ways}
    figure.put_below([NOTE, *(note for at, note in PLACES.items() if at in drawn)])
    return figure


def list_ways(rows: pd.DataFrame, surgery: bool = False) -> list[tuple[str, str, int, str]]:
    """The exchanges, or the surgeries with controls, by model: none and the question first, then all layers, then
    one by one.
    """
    keys = rows[["model", "vectors", "layer", "at"]].drop_duplicates()
    models = {name: at for at, name in enumerate(rows["model"].drop_duplicates())}
    is_pair = keys["at"] == "pair"
    if surgery:
        keys = keys[keys["vectors"].isin(ORDER[:2]) | keys["at"].str.startswith(SURGERY)]
    else:
        is_drawn = (keys["layer"] == -1) | ((keys["vectors"] != "binding") & is_pair)
        keys = keys[is_drawn & (is_pair | keys["vectors"].isin(["role", "filler"]))]

    def rank(way: Any) -> tuple[Any, ...]:
        model, vectors, layer, at = way
        if surgery:
            return models[model], at != "pair", vectors != "none", layer
        return models[model], ORDER.index(vectors), at != "pair", at, layer

    return sorted(keys.itertuples(index=False, name=None), key=rank)


def way_label(model: str, vectors: str, layer: int, at: str) -> str:
    names = {
        "none": "no exchange",
        "question": "the new question itself",
        "hidden": "hidden states",
    }
    what = names.get(vectors, f"{vectors}s")
    if vectors not in ("none", "question", "embedding role"):
        what += ", all layers" if layer == -1 else f", layer {layer}"
    return f"{model}: {what}{'' if at == 'pair' else f', {at}'}"


def _draw(axes: Axes, rows: pd.DataFrame, ways: list[tuple[str, str, int, str]]) -> None:
    known = rows.set_index(["model", "vectors", "layer", "at"])
    left = np.zeros(len(ways))
    found = known.reindex(pd.MultiIndex.from_tuples(ways))
    for column, name, color, hatch in PARTS:
        width = found[column].fillna(0).to_numpy(float)
        look: Any = {"color": color, "hatch": hatch, "edgecolor": MUTED, "linewidth": 0.5}
        axes.barh(range(len(ways)), width, 0.72, left, label=name, **look)
        left += width
    names = ["counterfactual_low", "counterfactual", "counterfactual_high"]
    bounds = found[names].to_numpy(float).T  # low, value, high
    errors = np.clip(np.diff(bounds, axis=0), 0, None)
    look = {"fmt": "none", "ecolor": INK, "elinewidth": 0.9, "capsize": 1.8}
    axes.errorbar(bounds[1], range(len(ways)), xerr=errors, **look)


def draw_surgery(swaps: pd.DataFrame) -> Drawing:
    return swap_shares(swaps, surgery=True)


TEXT = "swaps: give --ckpt with folders of `intervene --out`"
SWAPPED = {"swaps": Input(TEXT, partial(load_tables, kind=SWAPS), SWAPS.find_finished)}
SWAP = Maker(swap_shares, inputs=SWAPPED)
SURGERIES = Maker(draw_surgery, inputs=SWAPPED)
