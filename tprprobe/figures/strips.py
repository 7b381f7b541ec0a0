"""Texts as rows of colored squares, one per token, broken into lines that fit a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, zip_longest
from operator import itemgetter

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from matplotlib.typing import ColorType

from tprprobe.errors import InputError
from tprprobe.figures.colors import text_color
from tprprobe.figures.look import current_look
from tprprobe.figures.scenes import Scene
from tprprobe.figures.style import (
    BOLD_LETTER,
    INK,
    LETTER,
    MUTED,
    SMALL,
    TITLE,
    AnyFigure,
    Drawing,
    Options,
    drawing,
    headline,
    refuse_low,
    title_size,
    wrap_lines,
    wrap_title,
)
from tprprobe.figures.text_sizes import TextSizes
from tprprobe.store.token_texts import sign, spell

SIGNS = {"<sos>": "⊢", "<eos>": "⊣", "": ""}  # which texts hardly contain
CELL = 0.165  # inches
LETTERS = 0.43  # squares that a letter of a word takes
COLUMNS = 42  # squares in a line: a page's width
HEADING, NOTE, GAP = 0.85, 0.62, 0.4  # heights of headings, notes and gaps, in squares
MARGIN, HEAD, FOOT, NARROWEST = 0.12, 0.36, 0.3, 5.2  # inches
KEY_LINE, KEY_SIZE = 1.25, 6.8  # squares of a line of the key; points where squares are not smaller
MIN_POINTS = 6  # of a text
TIGHTEST = 0.8  # of the height of squares in given axes
NARROW = 0.78  # of the size of a square, in a figure whose width is asked for

PLAIN: Options = {"parse_math": False}  # a token is no formula
MIDDLE: Options = {"ha": "center", "va": "center_baseline", **PLAIN}

Color = tuple[float, ...]
WHITE = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class StripFrame:
    """A frame around the tokens from ``start`` to before ``stop``."""

    start: int
    stop: int
    color: str = INK
    style: str = "solid"


def write_token(token: str) -> str:
    """The token as a strip shows it."""
    return SIGNS.get(token, spell(token).strip() or sign(token))


def count_slots(text: str) -> int:
    """The squares that a token takes: a character one, a word as many as it is long."""
    return 1 if len(text) < 2 else math.ceil(LETTERS * len(text) + 0.4)


@dataclass(frozen=True)
class Strip:
    """One row: characters, their colors, notes under each, and what stands above and behind."""

    tokens: Sequence[str]
    colors: Sequence[Color]
    notes: Sequence[str]
    heading: str = ""
    after: str = ""
    after_color: str = MUTED
    frames: Sequence[StripFrame] = ()
    gold: Sequence[str] = ()  # a second row of notes
    beside: Sequence[tuple[Color, str]] = ()  # bars with notes below: what a baseline model has
    max_columns: int = COLUMNS

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """Line, first column and width of every token, and last of what stands behind the row."""
        slots = [count_slots(write_token(token)) for token in self.tokens]
        behind = math.ceil(len(self.after) * 0.48) + 1 if self.after else 0
        places, line, column = [], 0, 0
        for n_slots in (*slots, behind):
            if column + n_slots > self.max_columns:
                line, column = line + 1, 0
            places.append((line, column, n_slots))
            column += n_slots
        return places

    @property
    def columns(self) -> int:
        return max(column + width for _, column, width in self.places)

    @property
    def lines(self) -> int:
        return self.places[-1 if self.after else -2][0] + 1

    def list_boxes(self, frame: StripFrame) -> list[tuple[int, int, int]]:
        """Line, first column and width of a frame's part in every line."""
        places = self.places[frame.start : frame.stop]
        return [
            (line, cells[0][1], sum(width for _, _, width in cells))
            for line, group in groupby(places, itemgetter(0))
            for cells in [list(group)]
        ]

    @property
    def line_height(self) -> float:
        return 1 + NOTE * (1 + bool(self.gold) + 1.6 * bool(self.beside))

    @property
    def height(self) -> float:
        return self.lines * self.line_height + GAP + (HEADING if self.heading else 0)


def join_strips(strips: Sequence[Strip]) -> Strip:
    """Texts in one line, an empty square between them."""
    texts, colors, notes = [], [], []
    for strip in strips:
        texts += [*strip.tokens, ""]
        colors += [*strip.colors, WHITE]
        notes += [*strip.notes, ""]
    return Strip(texts[:-1], colors[:-1], notes[:-1])


@dataclass(frozen=True, eq=False)
class Strips(Scene):
    """Strips one below the other; ``key`` has a color and what it means each."""

    strips: Sequence[Strip]
    key: Sequence[tuple[ColorType, str]] = ()

    def tabulate(self) -> pd.DataFrame:
        """A row per token: the number of its text, its place, and what stands below it."""
        rows = [
            {"text": i, "heading": strip.heading, "position": j, "token": token, "value": value}
            | {"structure": gold, "baseline": bar and bar[-1]}
            for i, strip in enumerate(self.strips)
            for j, (token, value, gold, bar) in enumerate(
                zip_longest(strip.tokens, strip.notes, strip.gold, strip.beside, fillvalue="")
            )
        ]
        table = pd.DataFrame(rows)
        return table.loc[:, (table != "").any()]


@dataclass(frozen=True)
class _Layout:
    """Strips in as many columns as there is room for: places of the key's texts, rows in all, inches of the page."""

    scene: Strips
    columns: int
    key: list[tuple[int, float]]
    rows: float
    title: str
    note: str
    width: float
    head: float
    foot: float

    @property
    def height(self) -> float:
        return self.rows * _cell() + self.head + self.foot


def _lay_out(scene: Strips, ax: Axes | None = None) -> _Layout:
    look, cell = current_look(), _cell()
    columns = max(int((NARROWEST - 2 * MARGIN) / cell), *(strip.columns for strip in scene.strips))
    room = ax.bbox.width / ax.figure.dpi if ax else (look.inches or 0) - 2 * MARGIN
    if look.inches or ax:
        columns = max(int(room / cell), 1)
        scene = replace(scene, strips=[replace(s, max_columns=columns) for s in scene.strips])
    letter = 0.92 * LETTER * _points(KEY_SIZE) / SMALL / CELL / _scale()  # squares
    key = _place_key([text for _, text in scene.key] if look.legend else [], columns, letter)
    rows = sum(strip.height for strip in scene.strips)
    rows += KEY_LINE * (key[-1][0] + 1) if key else 0
    width = look.inches or columns * cell + 2 * MARGIN
    title = wrap_lines(scene.title, width - 2 * MARGIN, BOLD_LETTER * title_size() / TITLE)
    note = wrap_lines(scene.note * look.notes, width - 2 * MARGIN, LETTER)
    foot = FOOT + 0.11 * note.count("\n") if note else MARGIN
    head = HEAD + 0.15 * title.count("\n") if title else MARGIN
    return _Layout(scene, columns, key, rows, title, note, width, head, foot)


def measure_page(scene: Strips) -> float:
    """The height in inches of a figure of these strips."""
    title = current_look().title
    return _lay_out(scene if title is None else replace(scene, title=title)).height


def draw_strips(scene: Strips, ax: Axes | None = None) -> AnyFigure:
    """A figure with one strip below the other, a title above, and below the key of the colors and a caption."""
    layout = _lay_out(scene, ax)
    scene = layout.scene
    figure, axes = (ax.figure, ax) if ax else _open_page(layout)
    rows = _fit_rows(ax, layout) if ax else layout.rows
    axes.set(xlim=(0, layout.columns), ylim=(rows, 0))
    axes.set_axis_off()
    if ax:
        axes.set_title(wrap_title(axes, scene.title))
    top = 0.0
    for strip in scene.strips:
        _draw(axes, strip, top)
        top += strip.height
    for (color, text), (line, x) in zip(scene.key, layout.key, strict=False):
        _draw_key(axes, color, text, (x, top + KEY_LINE * line))
    if ax:
        axes.add_artist(TextSizes(_cell()))
    return figure


def _fit_rows(ax: Axes, layout: _Layout) -> float:
    """The rows of squares in given axes, which may stay empty below."""
    advice = ", or leave out the key (legend=False)" * bool(layout.key)
    advice += ", or draw fewer texts (n_rows=1)" * (len(layout.scene.strips) > 1)
    refuse_low(ax, TIGHTEST * layout.rows * _cell(), advice)
    return max(layout.rows, ax.bbox.height / ax.figure.dpi / _cell())


def _cell() -> float:
    """The inches of a square; smaller in a figure whose width is asked for, and in given axes."""
    look = current_look()
    return CELL * (NARROW if look.width and not look.fontsize else look.scale)


def _scale() -> float:
    """How much smaller than usual squares and texts are."""
    return min(1.0, _cell() / CELL / current_look().scale)


def _points(size: float) -> float:
    """The size of a text that has ``size`` points in usual squares."""
    return max(MIN_POINTS, size * _scale())


def _place_key(texts: Sequence[str], columns: int, letter: float) -> list[tuple[int, float]]:
    """Line and column of every entry of the key, in as many columns as make the fewest lines; a long one takes several."""
    layouts = []
    for across in range(1, 5):
        room, places, line, start = columns / across, [], 0, 0
        for text in texts:
            meaning = text.partition(": ")[2]
            slots = min(across, math.ceil((1.8 + letter * len(meaning)) / room))
            if start + slots > across:
                line, start = line + 1, 0
            places.append((line, start * room))
            start += slots
        layouts.append((line, across, places))
    return min(layouts)[2]


def _draw_key(axes: Axes, color: ColorType, text: str, place: tuple[float, float]) -> None:
    """A square of the color with the number before the colon in it, and what it means."""
    (x, y), (number, _, meaning) = place, text.partition(": ")
    axes.add_patch(Rectangle((x, y), 1.1, 1, facecolor=color, edgecolor="none"))
    look: Options = {"fontsize": _points(KEY_SIZE), **PLAIN}
    ink = text_color(to_rgb(color))
    axes.text(x + 0.55, y + 0.54, number, color=ink, ha="center", va="center_baseline", **look)
    axes.text(x + 1.35, y + 0.54, meaning, color=INK, va="center_baseline", **look)


def _open_page(layout: _Layout) -> tuple[Drawing, Axes]:
    """A figure with squares for strips and their key, a title above and a note below."""
    asked, width = current_look().height, layout.width
    if asked and asked < layout.height:
        raise InputError(
            f"height {asked:g}: these texts and their key take {layout.height:.1f} inches; ask for fewer, or leave out height"
        )
    height = asked or layout.height
    figure = drawing(width, height)
    figure.set_layout_engine(None)
    left_edge = MARGIN / width
    headline(figure, layout.title, x=left_edge, y=1 - 0.1 / height, va="top", color=INK)
    figure.text(left_edge, 0.1 / height, layout.note, va="bottom", fontsize=SMALL, color=MUTED)
    squares, top = layout.rows * _cell() / height, 1 - layout.head / height
    box = left_edge, top - squares, layout.columns * _cell() / width, squares
    return figure, figure.add_axes(box)


def _draw(axes: Axes, strip: Strip, top: float) -> None:
    look: Options = {"fontsize": _points(7), **PLAIN}
    if strip.heading:
        axes.text(0, top + 0.35, strip.heading, va="center", color=MUTED, **look)
        top += HEADING
    squares = []
    under = strip.gold or [""] * len(strip.tokens)
    bars = strip.beside or [(WHITE, "")] * len(strip.tokens)
    for (line, x, width), token, color, note, gold, (back, bar) in zip(
        strip.places, strip.tokens, strip.colors, strip.notes, under, bars, strict=False
    ):
        y = top + line * strip.line_height
        box = Rectangle((x, y), width, 1, facecolor=color, edgecolor="white", linewidth=0.5)
        squares.append(box)
        text, ink = write_token(token), text_color(color)
        end = strip.line_height - NOTE
        if bar:
            corner, edge = (x, y + end - NOTE / 2), {"linewidth": 0.5, "edgecolor": "white"}
            squares.append(Rectangle(corner, width, NOTE, facecolor=back, **edge))
        texts = [(0.54, text, ink, 8.0), (1.29, note, INK, 6.2), (1.29 + NOTE, gold, INK, 6.2)]
        texts += [(end, bar, text_color(back), 5.8)]
        for below, text, color, size in texts:
            if text:
                place = (x + width / 2, y + below)
                axes.text(*place, text, color=color, fontsize=_points(size), **MIDDLE)
    axes.add_collection(PatchCollection(squares, match_original=True))
    for frame in strip.frames:
        for line, x, width in strip.list_boxes(frame):
            corner = (x, top + line * strip.line_height)
            line_look: Options = {"linestyle": frame.style, "linewidth": 1.4 * _scale()}
            line_look |= {"edgecolor": frame.color, "fill": False, "zorder": 3}
            axes.add_patch(Rectangle(corner, width, 1, **line_look))
    line, x, _ = strip.places[-1]
    y = top + line * strip.line_height + 0.54
    axes.text(x + 0.5, y, strip.after, va="center_baseline", color=strip.after_color, **look)
