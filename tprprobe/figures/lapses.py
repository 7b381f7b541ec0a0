"""Curves over the steps of a training, on a logarithmic scale, each beside its control."""

import pandas as pd

from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, palette, tidy

ACROSS = 3  # panels in a row


def lapse_curves(curves: pd.DataFrame, moments: pd.DataFrame) -> Drawing:
    """A panel a question and measure, a line a row with its interval; its control is dotted, its moment a triangle."""
    panels = list(dict.fromkeys(zip(curves["question"], curves["measure"], strict=True)))
    rows, across = curves["row"].unique().tolist(), min(ACROSS, len(panels))
    down, at = -(-len(panels) // across), moments.set_index(["question", "measure", "row"])["step"]
    figure = drawing(2.5 * across + 0.8, 2.0 * down + 0.6 + 0.16 * (len(rows) // 4))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    shades, lines = dict(zip(rows, palette(len(rows)), strict=True)), {}
    for axis, panel in zip(axes, panels, strict=False):
        for row, line in curves.set_index(["question", "measure"]).loc[[panel]].groupby("row"):
            x, shade = line["step"], shades[row]
            axis.fill_between(x, line["value_low"], line["value_high"], color=shade, alpha=0.18, linewidth=0)  # fmt: skip
            lines[row] = axis.plot(x, line["value"], color=shade, linewidth=1.2)[0]
            axis.plot(x, line["control"], ":", color=shade, linewidth=1)
            passed = line[x == at[*panel, row]]
            axis.plot(passed["step"], passed["value"], "^", color=shade, markeredgecolor="white")
        axis.axhline(0, color=MUTED, linewidth=0.5)
        axis.set(xscale="log", xlabel="step")
        axis.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(axis, ": ".join(panel))
        axis.title.set_fontsize(7.5)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    named = {row: line for row, line in lines.items() if row}
    named["strongest control"] = axes[0].plot([], [], ":", color=MUTED)[0]
    named["above it from here on"] = axes[0].plot([], [], "^", color=MUTED)[0]
    where = {"loc": "outside lower right", "ncols": 4, "fontsize": 6.5, "frameon": False}
    figure.legend(named.values(), named.keys(), **where)
    return figure
