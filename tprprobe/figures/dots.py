"""Scenes on paper: dots with intervals, one row per value; lines by layer; a table of counts as squares."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, legend, palette, tidy

MARKERS = "osD^vPX*"
ACROSS = 3  # panels in a row


def interval_dots(rows: pd.DataFrame, title: str, label: str = "") -> Drawing:
    """A dot with its interval for every row, a color and a marker a group.

    ``rows`` have name, group, value, low and high; rows of one name lie on one line.
    """
    names, groups = rows["name"].unique().tolist(), rows["group"].unique().tolist()
    figure = drawing(6.4, 0.24 * len(names) + 1.3)
    panel = figure.add_subplot()
    for number, (group, color) in enumerate(zip(groups, palette(len(groups)), strict=True)):
        part = rows[rows["group"] == group]
        place = part["name"].map(names.index) + 0.5 * ((number + 0.5) / len(groups) - 0.5)
        panel.hlines(place, part["low"], part["high"], color=color, linewidth=1.2)
        marker = MARKERS[number % len(MARKERS)]
        panel.plot(
            part["value"], place, marker, color=color, markersize=4.5, label=group, linestyle=""
        )
    panel.set(ylim=(len(names) - 0.5, -0.5), xlabel=label)
    panel.set_yticks(range(len(names)), names, parse_math=False)
    tidy(panel, title, grid="x")
    legend(figure)
    return figure


def draw_lines(lines: Any, title: str) -> Drawing:
    """The figure of ``rows`` (panel, line, x, value, low, high, sure) and ``bands`` (panel, x, value, low, high)."""
    panels, names = lines.rows["panel"].unique().tolist(), lines.rows["line"].unique().tolist()
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = drawing(2.4 * across + 0.8, 1.9 * down + 0.8)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    shades = dict(zip(names, palette(len(names)), strict=True))
    for panel in axes[len(panels) :]:
        panel.set_visible(False)
    for name, panel in zip(panels, axes, strict=False):
        band = lines.bands[lines.bands["panel"] == name]
        x = band["x"].astype(float)
        panel.fill_between(x, band["low"], band["high"], color=FAINT, linewidth=0)
        panel.plot(band["x"], band["value"], ":", color=MUTED, linewidth=0.9)
        for line, part in lines.rows[lines.rows["panel"] == name].groupby("line", sort=False):
            shade, mark = shades[line], MARKERS[names.index(line) % len(MARKERS)]
            x, value, sure = part["x"], part["value"], part[part["sure"].astype(bool)]
            panel.vlines(x.astype(float), part["low"], part["high"], color=shade, linewidth=0.9)
            panel.plot(x, value, "-", color=shade, linewidth=1.2, label=line)
            panel.plot(x, value, mark, color=shade, markersize=4, markerfacecolor="white")
            panel.plot(sure["x"], sure["value"], mark, color=shade, markersize=4)
        tidy(panel, name, grid="y")
        panel.title.set_fontsize(7.5)
    axes[0].set_ylabel(lines.label)
    axes[0].set_xlabel(lines.x)
    figure.suptitle(title, fontsize=9, fontweight="bold", x=0.01, ha="left")
    if len(names) > 1:
        handles = {t.get_label(): t for a in axes for t in a.get_lines() if t.get_label() in names}
        legend(figure, handles.values(), handles.keys())
    return figure


def count_squares(
    counts: Int[np.ndarray, "row column"], title: str, labels: Sequence[str]
) -> Drawing:
    """A table of counts as squares, darker for a larger share of the row; percentages are written."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    figure = drawing(0.3 * counts.shape[1] + 1.4, 0.3 * counts.shape[0] + 1.1)
    panel = figure.add_subplot()
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, column in np.argwhere(shares >= 0.1):
        ink = "white" if shares[row, column] > 0.55 else "black"
        text = f"{100 * shares[row, column]:.0f}"
        panel.text(column, row, text, ha="center", va="center", fontsize=6, color=ink)
    panel.set(ylabel=labels[0], xlabel=labels[1])
    panel.set_xticks(range(counts.shape[1]))
    panel.set_yticks(range(counts.shape[0]))
    tidy(panel, title)
    return figure
