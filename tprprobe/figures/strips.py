"""Texts as rows of coloured squares, one a character, broken over lines that fit a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from tprprobe.figures.style import INK, MUTED, Drawing, drawing, text_colour

SIGNS = {"<sos>": "#", "<eos>": "%", " ": ""}  # as in the paper; a blank is an empty square
CELL = 0.165  # inches
COLUMNS = 42  # squares in a line: a page's width
HEADING, NOTE, GAP = (
    0.85,
    0.62,
    0.4,
)  # heights of a heading, of notes and between strips, in squares
MARGIN, HEAD, FOOT, NARROWEST = 0.12, 0.36, 0.3, 5.2  # inches

MIDDLE: dict[str, Any] = {"ha": "center", "va": "center_baseline"}

Colour = tuple[float, ...]


@dataclass(frozen=True)
class Strip:
    """One row: characters, their colours, a note under each, and what stands above and behind."""

    tokens: Sequence[str]
    colours: Sequence[Colour]
    notes: Sequence[str]
    heading: str = ""
    after: str = ""
    after_colour: str = MUTED
    framed: int | None = None

    @property
    def after_slots(self) -> int:
        return math.ceil(len(self.after) * 0.48) + 1 if self.after else 0

    @property
    def after_place(self) -> tuple[int, int]:
        """Line and column of what stands behind the row: a line of its own where it has no room."""
        line, column = divmod(len(self.tokens), COLUMNS)
        return (line, column) if column + self.after_slots <= COLUMNS else (line + 1, 0)

    @property
    def columns(self) -> int:
        line, column = self.after_place
        return COLUMNS if line else max(column + self.after_slots, len(self.tokens))

    @property
    def lines(self) -> int:
        return max(math.ceil(len(self.tokens) / COLUMNS), self.after_place[0] + bool(self.after))

    @property
    def height(self) -> float:
        return self.lines * (1 + NOTE) + GAP + (HEADING if self.heading else 0)


def draw_strips(strips: Sequence[Strip], title: str, caption: str) -> Drawing:
    """A figure with one strip below the other, a title above and a caption below."""
    columns, rows = max(strip.columns for strip in strips), sum(strip.height for strip in strips)
    width = max(columns * CELL + 2 * MARGIN, NARROWEST)
    height = rows * CELL + HEAD + FOOT
    figure = drawing(width, height)
    figure.set_layout_engine("none")
    left = MARGIN / width
    axes = figure.add_axes((left, FOOT / height, columns * CELL / width, rows * CELL / height))
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.set_axis_off()
    figure.text(left, 1 - 0.1 / height, title, va="top", fontsize=9, fontweight="bold", color=INK)
    figure.text(left, 0.1 / height, caption, va="bottom", fontsize=6.5, color=MUTED)
    top = 0.0
    for strip in strips:
        _draw(axes, strip, top)
        top += strip.height
    return figure


def _draw(axes: Axes, strip: Strip, top: float) -> None:
    if strip.heading:
        axes.text(0, top + 0.35, strip.heading, va="center", fontsize=7, color=MUTED)
        top += HEADING
    squares = []
    for number, (token, colour, note) in enumerate(
        zip(strip.tokens, strip.colours, strip.notes, strict=True)
    ):
        line, x = divmod(number, COLUMNS)
        y = top + line * (1 + NOTE)
        squares.append(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.5))
        sign, ink = SIGNS.get(token, token), text_colour(colour)
        axes.text(x + 0.5, y + 0.54, sign, color=ink, fontsize=8, **MIDDLE)
        axes.text(x + 0.5, y + 1.29, note, color=INK, fontsize=5.5, **MIDDLE)
    axes.add_collection(PatchCollection(squares, match_original=True))
    if strip.framed is not None:
        line, x = divmod(strip.framed, COLUMNS)
        corner = (x, top + line * (1 + NOTE))
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=1.4, zorder=3))
    line, x = strip.after_place
    y = top + line * (1 + NOTE) + 0.54
    axes.text(x + 0.5, y, strip.after, va="center_baseline", fontsize=7, color=strip.after_colour)
