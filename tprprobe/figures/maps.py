"""Vectors in the plane: a point each, colored by a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from tprprobe.figures.colors import palette
from tprprobe.figures.scenes import Scene
from tprprobe.figures.style import INK, Options

VALUELESS = ("other", "–")
GREY = (0.72, 0.74, 0.77)
LETTER_WIDTH, LINE_HEIGHT = 0.03, 0.05  # of a sign, in shares of the map
LABEL: Options = {
    "ha": "center",
    "va": "center",
    "size": "small",
    "color": INK,
    "parse_math": False,
}
LABEL |= {"path_effects": [withStroke(linewidth=2, foreground="white")]}


@dataclass(frozen=True, eq=False)
class Points(Scene):
    """Points with a value each; ``order`` is that of the values, marked points are ringed, all others pale.

    ``marks`` are columns of a file of numbers instead of the values.
    """

    points: Float[np.ndarray, "token 2"]
    values: Sequence[str]
    order: Sequence[str]
    axes: Sequence[str] = ("", "")
    marked: Bool[np.ndarray, " token"] | None = None
    colors: Sequence[tuple[float, ...]] | None = None
    signs: Sequence[str] = ()  # at the middle of every value
    marks: pd.DataFrame | None = None

    def tabulate(self) -> pd.DataFrame:
        x, y = self.points.T
        columns = {"value": list(self.values)} if self.marks is None else self.marks
        return pd.DataFrame({"x": x, "y": y, **columns})


def scatter(
    points: Float[np.ndarray, "token 2"],
    values: Sequence[str],
    order: Sequence[str],
    title: str,
    axes: Sequence[str] = ("", ""),
) -> Points:
    return Points(points, values, order, axes, title=title)


def put_signs(panel: Axes, groups: Mapping[str, Float[np.ndarray, "token 2"]]) -> None:
    """A text at the middle of each group; one that would cover an earlier one moves up or down, or is left out."""
    span, taken = np.ptp(np.concatenate([*groups.values()]), 0) if groups else np.ones(2), []
    for sign, points in groups.items():
        place = np.median(points, 0) / span
        size = np.array([LETTER_WIDTH * len(sign), LINE_HEIGHT])
        shifts = (place + np.array([0, step * LINE_HEIGHT]) for step in (0, -1, 1, -2, 2))
        free = (
            at
            for at in shifts
            if all((abs(at - other) > (size + room) / 2).any() for other, room in taken)
        )
        if (at := next(free, None)) is not None:
            x, y = (at * span).tolist()
            panel.text(x, y, sign, **LABEL)
            taken.append((at, size))


def find_colors(scene: Points) -> dict[str, tuple[float, ...]]:
    """The color of every value; what has none is gray."""
    names = [name for name in scene.order if name not in VALUELESS]
    return dict(zip(names, scene.colors or palette(len(names)), strict=True))


def paint_points(panel: Axes, scene: Points) -> None:
    """The points, with a handle of a legend for every value."""
    points, values, marked = scene.points, np.asarray(scene.values, object), scene.marked
    names = [name for name in scene.order if name not in VALUELESS]
    colors = dict(zip(names, scene.colors or palette(len(names)), strict=True))
    shades = [colors.get(name, GREY) for name in values]
    size, pale = (9, 0.2) if len(points) < 5000 else (3, 0.2)
    plain: Options = {"s": size, "alpha": 0.8 if marked is None else pale, "linewidths": 0}
    panel.scatter(*points.T, c=shades, rasterized=True, **plain)
    if marked is not None:
        ringed = [colors.get(name, GREY) for name in values[marked]]
        ring: Options = {"s": 2 * size, "edgecolors": INK, "linewidths": 0.6}
        panel.scatter(*points[marked].T, c=ringed, rasterized=True, **ring)
    for name, color in colors.items():
        panel.plot([], [], "o", color=color, markersize=4, label=name.replace("$", r"\$"))
    signs = zip(colors, scene.signs, strict=False)
    put_signs(panel, {sign: points[values == name] for name, sign in signs})
    panel.set(xlabel=scene.axes[0], ylabel=scene.axes[1], xticks=[], yticks=[])
