"""Squares on paper: darker for larger numbers, or in the colors of groups, with texts written in them."""

import math
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.text import Text

from tprprobe.figures.colors import PALER, color_map, group_colors, text_color
from tprprobe.figures.legends import legend
from tprprobe.figures.look import TICKS, current_look
from tprprobe.figures.scenes import Squares
from tprprobe.figures.style import (
    MUTED,
    AnyFigure,
    Drawing,
    Options,
    is_ours,
    open_panels,
    tidy,
    title_size,
    wrap_own_labels,
)

SQUARE, CELL = 0.3, 0.13  # inches of a square with and without text
SMALLEST = 3.5  # points of a name of a row or column; else some names are left out
FLAT, NARROW_ROW, MAX_ROWS = 0.135, 0.1, 14  # inches of a row of numbers, beyond so many rows
LARGEST, SMALLEST_FONT = 6.5, 4.2  # points of a text in a square
EM, GAP = 0.58, 0.7  # font sizes a letter; letters between texts
LINE = 1.1  # font sizes from one name to the next
MAX_NAME = 12  # characters of a column that stand in one line
MIN_CELLS = 20  # of a side without text
BAR, BAR_LABEL = 0.35, 0.25  # inches of a color bar with its ticks, of what it measures


def draw_squares(squares: Squares, ax: np.ndarray | None) -> AnyFigure:
    cell, room = (CELL, 1.6) if squares.texts is None else (SQUARE, 1.4)
    smallest = MIN_CELLS if squares.texts is None else 0
    down, across = (cell * max(n, smallest) for n in squares.values.shape)
    is_flat = _is_flat(squares)
    if squares.texts is not None:
        across += 0.05 * max(map(len, squares.rows), default=0)
    row = NARROW_ROW if current_look().is_narrow else FLAT
    height = row * len(squares.values) + 1.4 if is_flat else down + 1.1
    inches = current_look().inches if squares.texts is not None else None
    if inches and not is_flat:  # texts around squares do not shrink with them
        height = 1.1 + down * max(inches - room, 1) / across
    keeps_shape = not (is_flat or inches)
    figure, [[panel]] = open_panels(max(across + room, 3.4), height, ax=ax, keeps_shape=keeps_shape)
    image = paint_squares(panel, squares)
    if squares.bar and current_look().legend:
        ends = (np.nanmin(squares.values) < -1, np.nanmax(squares.values) > 1)
        arrows = {(True, True): "both", (True, False): "min", (False, True): "max"}
        look: Options = {"fraction": 0.05, "shrink": 0.7, "extend": arrows.get(ends, "neither")}
        if panel.figure.get_layout_engine() is None:  # which would make room for its texts
            width = panel.bbox.width / panel.figure.dpi
            look |= {"fraction": BAR / width, "pad": BAR_LABEL / width}
        bar = panel.figure.colorbar(image, ax=panel, **look)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7)
        bar.ax.set_ylabel(squares.bar, fontsize=8)
        bar.ax.yaxis.set_label_position("left")  # at the right the next panel has its own
        if squares.signed:
            bar.set_ticks([-1, 0, 1])
    tidy(panel, squares.title, size=title_size())
    frame(panel)
    return figure


def _is_flat(squares: Squares) -> bool:
    """Whether there are so many rows that each is only as high as its text."""
    return squares.texts is not None and len(squares.values) > MAX_ROWS


def paint_squares(panel: Axes, squares: Squares) -> AxesImage:
    """Squares, darker for larger numbers; the scale ends at the largest where a color bar tells it."""
    values = np.asarray(squares.values, float)
    end = np.nanmax(values, initial=1e-9) if squares.bar and not squares.signed else 1
    colors = color_map(squares.signed)
    if squares.groups is not None:
        return _paint_groups(panel, squares)
    is_full = squares.texts is not None and (_is_flat(squares) or not is_ours(panel))
    colors = colors.with_extremes(bad=panel.figure.get_facecolor())
    image = panel.imshow(
        squares.values, cmap=colors, vmin=-1 if squares.signed else 0, vmax=end, interpolation="nearest",
        aspect="auto" if is_full else "equal",
    )  # fmt: skip
    backs = np.asarray(colors(image.norm(values)))
    if squares.within is not None:
        backs[squares.within] += PALER * (1 - backs[squares.within])
        image.set(data=backs)
    _write_squares(panel, squares, backs)
    return image


def _paint_groups(panel: Axes, squares: Squares) -> AxesImage:
    """Squares in the colors of their groups, mixed with white; a legend below."""
    assert squares.groups is not None
    names, groups = pd.Index(squares.order), squares.groups
    hues = np.array([*group_colors(squares.order, squares.gray), (1, 1, 1)])
    codes = names.get_indexer(pd.Index(groups.ravel())).reshape(groups.shape)
    strength = np.nan_to_num(np.asarray(squares.values, float))[..., None]
    colors = 1 - strength * (1 - hues[codes])
    aspect = "auto" if _is_flat(squares) else "equal"
    image = panel.imshow(colors, interpolation="nearest", aspect=aspect)
    _write_squares(panel, squares, colors)
    handles = [
        Patch(color=tuple(hues[i].tolist()), label=names[i]) for i in np.unique(codes[codes >= 0])
    ]
    labels = [str(handle.get_label()) for handle in handles]
    legend(panel.figure if isinstance(panel.figure, Drawing) else panel, handles, labels)
    return image


def _write_squares(panel: Axes, squares: Squares, colors: np.ndarray) -> None:
    """The texts of squares of these colors, and the names of rows and columns."""
    texts = np.array(()) if squares.texts is None else squares.texts
    longest = max(map(len, texts.ravel()), default=0)
    for row, column in np.argwhere(texts != "").tolist() if texts.size else ():
        ink = text_color(colors[row, column].tolist())
        panel.add_artist(SquareText(column, row, texts[row, column], ink, longest))
    turn: Options = {"rotation": 90} if max(map(len, squares.columns), default=0) > 2 else {}
    names = [  # long ones that have an arrow in two lines
        name.replace(" → ", " →\n") if len(name) > MAX_NAME else name for name in squares.columns
    ]
    panel.set_xticks(range(len(names)), names, parse_math=False, **turn)
    panel.set_yticks(range(len(squares.rows)), squares.rows, parse_math=False)
    panel.set(ylabel=squares.titles[0], xlabel=squares.titles[1])


class SquareText(Text):
    """A text in the middle of a square, as large as the longest of all texts has room for; none where it is illegible."""

    def __init__(self, x: float, y: float, text: str, color: str, longest: int):
        look: Options = {"ha": "center", "va": "center", "fontsize": LARGEST, "parse_math": False}
        super().__init__(x, y, text, color=color, **look)
        self.longest = longest

    def draw(self, renderer: Any) -> None:  # MixedModeRenderer of PDF derives from no other
        """Draws the text in the size of its square."""
        width, height = _measure_square(self.axes, renderer)
        room = min(width / (EM * (self.longest + GAP)), height)
        self.set_fontsize(min(float(self.get_fontsize()), room))
        if room >= SMALLEST_FONT:
            super().draw(renderer)


def _measure_square(panel: Any, renderer: Any) -> Float[np.ndarray, "2"]:
    """The points from a square to the next, to the right and downward."""
    corners = panel.transData.transform([(0, 0), (1, 1)])
    return np.abs(corners[1] - corners[0]) / renderer.points_to_pixels(1)


class NameSizes(Artist):
    """Nothing that is seen: where a layout left less room than was expected, names of rows and columns are smaller."""

    def draw(self, renderer: Any) -> None:
        """Sets the sizes before the names are drawn."""
        assert self.axes is not None
        axes = self.axes.xaxis, self.axes.yaxis
        for axis, room in zip(axes, _measure_square(self.axes, renderer), strict=True):
            names = axis.get_ticklabels()
            n_lines = max((1 + name.get_text().count("\n") for name in names), default=1)
            letters = max((len(n.get_text()) for n in names if not n.get_rotation()), default=0)
            is_beside = axis is self.axes.xaxis  # each other: as wide as their letters
            size = max(LINE * n_lines, is_beside * (EM * letters + GAP))
            gap = np.diff(axis.get_majorticklocs()[:2]).sum() * room / size
            for name in names if gap else ():
                name.set_fontsize(min(float(name.get_fontsize()), gap))


def frame(panel: Axes) -> None:
    """A frame around squares, whose names are as large as a row or column has room for; else every second (third …) stands there."""
    panel.tick_params(length=0)
    panel.add_artist(NameSizes())
    panel.spines[:].set(visible=True, color=MUTED)
    width, height = (side / panel.figure.dpi for side in panel.figure.bbox.size)
    spec = panel.get_subplotspec()
    down, across = spec.get_gridspec().get_geometry() if spec else (1, 1)
    rooms = {panel.xaxis: width / across - 1, panel.yaxis: height / down - 0.9}
    names = {axis: [label.get_text() for label in axis.get_ticklabels()] for axis in rooms}
    sizes = {axis: 72 * max(room, 0.5) / max(len(names[axis]), 1) for axis, room in rooms.items()}
    for axis, texts in names.items():
        size = sizes[axis] if panel.get_aspect() == "auto" else min(sizes.values())
        step = math.ceil(SMALLEST / size)
        largest = TICKS if is_ours(panel) else float(axis.get_ticklabels()[0].get_fontsize())
        size = min(largest, step * size / current_look().scale)
        axis.set_ticks(range(0, len(texts), step), texts[::step], fontsize=size)
        if step > 1 and axis.get_label_text():
            axis.set_label_text(f"{axis.get_label_text()}, 1 of {step} named")
    if not is_ours(panel):
        wrap_own_labels(panel)
