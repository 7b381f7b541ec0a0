"""Curves over the steps of a training, on a logarithmic scale, each beside its control."""

import pandas as pd

from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, palette, tidy

ACROSS = 3  # panels in a row
BAND = {"alpha": 0.18, "linewidth": 0}


def lapse_curves(curves: pd.DataFrame, moments: pd.DataFrame) -> Drawing:
    """A panel a question and measure, a line a row with its interval; its control is dotted, its moment a triangle."""
    named = curves["row"].fillna("").astype(str)
    curves = curves.assign(row=named, panel=curves["question"] + ": " + curves["measure"])
    moments = moments.assign(row=moments["row"].fillna("").astype(str))
    at = moments.set_index(["question", "measure", "row"])["step"].dropna()
    panels, rows = curves["panel"].unique(), named.unique()
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = drawing(2.5 * across + 0.8, 2.0 * down + 0.6 + 0.16 * (len(rows) // 4))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    shades = dict(zip(rows, palette(len(rows)), strict=True))
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes, panels, strict=False):
        for key, line in curves[curves["panel"] == panel].groupby(["question", "measure", "row"]):
            x, shade = line["step"], shades[key[2]]
            axis.fill_between(x, line["value_low"], line["value_high"], color=shade, **BAND)
            axis.plot(x, line["value"], color=shade, linewidth=1.2, label=key[2])
            axis.plot(x, line["control"], ":", color=shade, linewidth=1)
            if key in at.index:
                y = line.loc[x == at[key], "value"]
                axis.plot([at[key]], y, "^", color=shade, markersize=5, markeredgecolor="white")
        axis.axhline(0, color=MUTED, linewidth=0.5)
        axis.set_xscale("log")
        axis.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(axis, panel)
        axis.title.set_fontsize(7.5)
    axes[0].set_xlabel("step")
    handles = {line.get_label(): line for axis in axes for line in axis.get_lines()}
    shown = {name: handles[name] for name in rows if name}
    if shown:
        figure.legend(
            shown.values(), shown.keys(), loc="outside lower right", ncols=4, fontsize=6.5,
            frameon=False,
        )  # fmt: skip
    return figure
