"""Dots with intervals, one row per value; and a table of counts as squares."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.figures.style import Drawing, drawing, legend, palette, tidy

MARKERS = "osD^vPX*"


def dots_of(rows: pd.DataFrame, names: pd.Series, score: str, group: str) -> pd.DataFrame:
    """The dots of a score with its interval, one per row, for :func:`interval_dots`."""
    numbers = rows[[score, f"{score}_low", f"{score}_high"]]
    found = numbers.set_axis(["value", "low", "high"], axis=1)
    return found.assign(name=names, group=group)


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
