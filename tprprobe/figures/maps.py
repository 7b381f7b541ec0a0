"""Vectors in the plane: a point each, colored by a value, the value written at its middle."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.patheffects import withStroke

from tprprobe.figures.style import INK, MUTED, Drawing, drawing, palette, tidy

NEITHER = ("other", "–")
GREY = (0.72, 0.74, 0.77)


def map_points(
    points: Float[np.ndarray, "token 2"],
    values: Sequence[str],
    order: Sequence[str],
    title: str,
    axes: Sequence[str] = ("", ""),
    note: str = "",
    marked: Bool[np.ndarray, " token"] | None = None,
) -> Drawing:
    """A figure of points in the colors of their values; marked ones are ringed, all others pale.

    Args:
        points: The places of the points.
        values: The value of every point.
        order: The values in the order of the legend.
        title: The title of the figure.
        axes: The labels of the two axes; default: none.
        note: A line below the figure; default: none.
        marked: Which points are marked; default: none, and no point is pale.

    Returns:
        The figure, whose points are one picture, so that files stay small.

    Examples:
        >>> tp.figures.map_points(np.zeros((2, 2)), ["a", "b"], ["a", "b"], "Two points").savefig("points.svg")
    """
    figure = drawing(5.6, 4.6)
    panel = figure.add_subplot()
    names = np.asarray(values, object)
    colors = dict(zip(order, palette(len(order)), strict=True)) | dict.fromkeys(NEITHER, GREY)
    size, pale = (9, 0.2) if len(points) < 5000 else (3, 0.2)
    shown = [colors[name] for name in names]
    panel.scatter(
        *points.T, s=size, c=shown, alpha=0.8 if marked is None else pale, linewidths=0,
        rasterized=True,
    )  # fmt: skip
    if marked is not None:
        ringed = [colors[name] for name in names[marked]]
        panel.scatter(
            *points[marked].T, s=2 * size, c=ringed, edgecolors=INK, linewidths=0.6, rasterized=True
        )
    for name in (each for each in order if each not in NEITHER):
        x, y = np.median(points[names == name], 0)
        panel.text(
            x, y, name, ha="center", va="center", fontsize=7.5, fontweight="bold", color=INK,
            parse_math=False, path_effects=[withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip
    panel.set(xlabel=axes[0], ylabel=axes[1], xticks=[], yticks=[])
    tidy(panel, title)
    if note:
        figure.supxlabel(note, fontsize=6.5, color=MUTED, x=0.01, ha="left")
    return figure
