"""Curves over the steps of a training, on a logarithmic scale, each beside its control."""

import pandas as pd

from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, palette, tidy

N_COLUMNS = 3  # of panels


def draw_trajectory(curves: pd.DataFrame, onsets: pd.DataFrame) -> Drawing:
    """A panel for each run and metric, a line for each row with its interval; its control is dotted, its onset a triangle."""
    panels = list(dict.fromkeys(zip(curves["run"], curves["metric"], strict=True)))
    rows, n_columns = curves["row"].unique().tolist(), min(N_COLUMNS, len(panels))
    n_rows = -(-len(panels) // n_columns)
    onset = onsets.set_index(["run", "metric", "row"])["step"]
    figure = drawing(2.5 * n_columns + 0.8, 2.0 * n_rows + 0.6 + 0.16 * (len(rows) // 4))
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    colors, lines = dict(zip(rows, palette(len(rows)), strict=True)), {}
    for axis, panel in zip(axes, panels, strict=False):
        for row, curve in curves.set_index(["run", "metric"]).loc[[panel]].groupby("row"):
            steps, color = curve["step"], colors[row]
            axis.fill_between(steps, curve["value_low"], curve["value_high"], color=color, alpha=0.18, linewidth=0)  # fmt: skip
            lines[row] = axis.plot(steps, curve["value"], color=color, linewidth=1.2)[0]
            axis.plot(steps, curve["control"], ":", color=color, linewidth=1)
            begin = curve[steps == onset[*panel, row]]
            axis.plot(begin["step"], begin["value"], "^", color=color, markeredgecolor="white")
        axis.axhline(0, color=MUTED, linewidth=0.5)
        axis.set(xscale="log", xlabel="step")
        axis.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(axis, ": ".join(panel))
        axis.title.set_fontsize(7.5)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    legend = {row: line for row, line in lines.items() if row}
    legend["strongest control"] = axes[0].plot([], [], ":", color=MUTED)[0]
    legend["above it from here on"] = axes[0].plot([], [], "^", color=MUTED)[0]
    place = {"loc": "outside lower right", "ncols": 4, "fontsize": 6.5, "frameon": False}
    figure.legend(legend.values(), legend.keys(), **place)
    return figure
