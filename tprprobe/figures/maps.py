"""Vectors in the plane: a point each, colored by a value, the value written at its middle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from tprprobe.figures.scenes import Scene
from tprprobe.figures.style import INK, MUTED, Drawing, open_panels, palette, tidy

VALUELESS = ("other", "–")
GREY = (0.72, 0.74, 0.77)


@dataclass(frozen=True, eq=False)
class Points(Scene):
    """Points with a value each; ``order`` is that of the values, marked points are ringed, all others pale."""

    points: Float[np.ndarray, "token 2"]
    values: Sequence[str]
    order: Sequence[str]
    axes: Sequence[str] = ("", "")
    marked: Bool[np.ndarray, " token"] | None = None
    colors: Sequence[tuple[float, ...]] | None = None


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
    return draw_points(Points(points, values, order, axes, marked, title=title, note=note))


def draw_points(scene: Points, ax: Axes | None = None) -> Any:
    """The scene as a figure of matplotlib."""
    figure, [[panel]] = open_panels(5.6, 4.6, ax=ax, keeps_shape=True)
    points, values, marked = scene.points, np.asarray(scene.values, object), scene.marked
    names = [name for name in scene.order if name not in VALUELESS]
    colors = dict(zip(names, scene.colors or palette(len(names)), strict=True))
    shades = [colors.get(name, GREY) for name in values]
    size, pale = (9, 0.2) if len(points) < 5000 else (3, 0.2)
    plain: Any = {"s": size, "alpha": 0.8 if marked is None else pale, "linewidths": 0}
    panel.scatter(*points.T, c=shades, rasterized=True, **plain)
    if marked is not None:
        ringed = [colors.get(name, GREY) for name in values[marked]]
        ring: Any = {"s": 2 * size, "edgecolors": INK, "linewidths": 0.6}
        panel.scatter(*points[marked].T, c=ringed, rasterized=True, **ring)
    for name in names:
        x, y = np.median(points[values == name], 0)
        panel.text(
            x, y, name, ha="center", va="center", fontsize=7.5, fontweight="bold", color=INK,
            parse_math=False, path_effects=[withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip
    panel.set(xlabel=scene.axes[0], ylabel=scene.axes[1], xticks=[], yticks=[])
    tidy(panel, scene.title)
    if scene.note and ax is None:
        figure.supxlabel(scene.note, fontsize=6.5, color=MUTED, x=0.01, ha="left")
    return figure
