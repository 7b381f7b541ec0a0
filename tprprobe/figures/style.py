"""One look for every figure, and files of it that are the same bytes every time."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.text import Text
from matplotlib.transforms import Bbox, TransformedBbox

from tprprobe.errors import InputError
from tprprobe.figures.colors import shade_color, text_color
from tprprobe.figures.look import FONTSIZE, SOFT, TICKS, current_look, named_ticks
from tprprobe.figures.text_sizes import REACH, OwnTexts
from tprprobe.files.writing import whole

FORMATS = (".pdf", ".svg", ".png")
Options = dict[str, Any]  # keyword arguments of matplotlib
FILES: Any = {
    "pdf.fonttype": 42,  # embedded and searchable
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tprprobe",
    "text.hinting": "none",  # texts are as wide at every resolution
}
NO_DATES = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
LETTER, LABEL_LETTER, BOLD_LETTER = 0.048, 0.062, 0.078  # inches, of small text, labels, titles
TITLE, PANEL_TITLE, SMALL = 9, 7.5, 6.5  # points: figures, one of several panels, small text
TALL, CURVES, MAP, ROW = 20.0, 0.8, 0.3, 0.085  # inches: of a trial, of panels that can be read
PAD = 0.1  # inches around a panel or legend
MARK = 0.03  # of an axis: what marks at its ends reach beyond it
WIDEST = 0.98  # of the width: lines of notes, which other resolutions draw a little wider
INK, MUTED, FAINT, WRONG = "#1a1a1a", "#5c5c5c", "#d8d8d8", "#B34700"

AnyFigure = Figure | SubFigure
GivenAxes = Axes | Sequence[Axes] | np.ndarray


class Drawing(Figure):
    """A figure of matplotlib whose files embed their fonts, bear no date and so are reproducible.

    The layout is settled once, when the figure is first saved, for all formats.

    Attributes:
        scene: What the figure shows; only set where its panels can be drawn alone.
        caption: The notes below it.

    Examples:
        >>> tp.draw("attention", store, head=0).savefig("map.svg")
    """

    _below, _has_height = 0.0, False  # inches; whether a height was asked for
    _notes: list[tuple[Text, Sequence[str]]] = []  # noqa: RUF012 (replaced, never changed)
    file_dpi = 200.0
    scene: Any
    caption = ""

    def put_below(self, lines: Sequence[str]) -> None:
        """Put lines of text below all that is drawn, which lengthens the files and changes nothing else.

        Args:
            lines: The lines, wrapped to the figure's width.
        """
        is_dark = text_color(to_rgb(self.get_facecolor())) == "white"
        color = shade_color(MUTED, 0.4) if is_dark else MUTED
        options: Options = {"fontsize": 6.5, "color": color, "linespacing": 1.4}
        self.caption = "\n".join([*filter(None, [self.caption]), *lines])
        if not current_look().notes:
            return
        self._notes = [*self._notes, (self.text(0.01, 0, "", va="top", **options), lines)]
        self.place_notes()

    def place_notes(self, rename: Callable[[str], str] = str) -> None:
        """Wraps the lines below to the figure's width.

        Args:
            rename: What gives them other words; default: they stay.
        """
        self._notes = [(text, [*map(rename, lines)]) for text, lines in self._notes]
        width, height = self.get_size_inches()
        self._below = 0.0
        for text, lines in self._notes:
            text.set_y(-(self._below + 0.05) / height)
            for letter in LETTER * 1.03 ** np.arange(40):  # until the widest line fits
                text.set_text(wrap_lines("\n".join(lines), width, letter, indent="  "))
                if text.get_window_extent().x1 < WIDEST * self.bbox.x1:
                    break
            n_lines = text.get_text().count("\n") + 1
            self._below += 0.15 + 0.13 * current_look().scale * n_lines

    def fit_height(self, height: float) -> None:
        """Lays out the figure so that its file, with the lines below, has so many inches.

        Args:
            height: The inches.

        Raises:
            InputError: Too few for what the panels show.
        """
        if (engine := self.get_layout_engine()) is None:  # strips and tables have their own
            return
        self.set_figheight(TALL)
        engine.execute(self)
        panels = [panel for panel in self.axes if panel.get_label() != "<colorbar>"]
        boxes = [panel.get_position(original=True) for panel in panels]
        column = TALL * sum(box.height for box in boxes if abs(box.x0 - boxes[0].x0) < MARK)
        shares = [
            _least(panel) / TALL / box.height for panel, box in zip(panels, boxes, strict=True)
        ]
        smallest = self._below + TALL - column + column * max(shares)
        if height < smallest:
            advice = ", or draw one panel alone (panel 0)" if len(panels) > 1 else ""
            needed_height = np.ceil(10 * smallest) / 10
            raise InputError(
                f"height {height:g}: this figure needs {needed_height:.1f} or more{advice}"
            )
        self.set_figheight(height - self._below)
        self._has_height = True
        self.place_notes()

    def _trim(self, engine: LayoutEngine) -> None:
        """Takes away the height that the squares of a single panel leave empty."""
        panels = [panel for panel in self.axes if panel.get_label() != "<colorbar>"]
        if len(panels) != 1 or panels[0].get_aspect() == "auto":
            return
        boxes = [part.get_tightbbox() for part in (panels[0], *self.legends)]
        height = sum(box.height / self.dpi + PAD for box in boxes if box)
        share = min(1, height / self.get_figheight())
        self.set_figheight(share * self.get_figheight())
        for text, _ in self._notes:
            text.set_y(text.get_position()[1] / share)
        for _ in range(4):  # squares beside a color bar settle slowly
            engine.execute(self)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the file of the figure.

        Args:
            fname: The file.
            **options: Those of ``matplotlib.figure.Figure.savefig``.
        """
        if (engine := self.get_layout_engine()) is not None:
            with matplotlib.rc_context(FILES):
                _wrap_labels(self, engine)
                engine.execute(self)
                if not self._has_height:
                    self._trim(engine)
            self.set_layout_engine(None)  # "none" would lay out, and so draw, at every saving
        kind = options.get("format") or Path(str(fname)).suffix.lstrip(".").lower()
        options.setdefault("metadata", NO_DATES.get(kind))
        options.setdefault("dpi", self.file_dpi)
        if self._below:
            width, height = self.get_size_inches()
            for legend in self.legends:  # hangs at the saved box, which reaches below the figure
                legend.set_bbox_to_anchor((0, 0, 1, 1), self.transFigure)
            options.setdefault("bbox_inches", Bbox.from_extents(0, -self._below, width, height))
        with matplotlib.rc_context(FILES):
            super().savefig(fname, **options)


def _least(panel: Axes) -> float:
    """The inches from which on a panel can be read: rows with names as high as these, and room for curves."""
    if panel.images:
        n_rows = len(np.asarray(panel.images[0].get_array()))
        return max(MAP, ROW * n_rows * bool(panel.texts))
    return max(CURVES, ROW * len(named_ticks(panel.yaxis)))


def drawing(width: float, height: float, keeps_shape: bool = False) -> Drawing:
    """An empty figure of that size in inches (7 fill the width of a page), unless another look is asked for."""
    size = current_look().measure(width, height, keeps_shape)
    figure = Drawing(figsize=size, dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def open_panels(
    width: float,
    height: float,
    down: int = 1,
    across: int = 1,
    ax: Axes | np.ndarray | None = None,
    keeps_shape: bool = False,
    **look: Any,
) -> tuple[AnyFigure, np.ndarray]:
    """A figure of that size with its panels [down, across]; where ``ax`` are given, their figure and these."""
    if ax is not None:
        axes = np.atleast_2d(np.asarray(ax, object))
        return axes[0, 0].figure, axes
    figure = drawing(width, height, keeps_shape)
    return figure, figure.subplots(down, across, squeeze=False, **look)


def check_axes(ax: GivenAxes, panels: Sequence[str]) -> np.ndarray:
    """The axes [down, across] that a user gives, one for each of some panels."""
    axes = np.atleast_2d(np.asarray(ax, object))
    if axes.size != len(panels):
        names = "; ".join(panel.partition("\n")[0] for panel in panels)
        raise InputError(
            f"{len(panels)} panels ({names}) for {axes.size} axes: give `ax` as many axes, or `panel=` the number or name of one"
        )
    return axes


def refuse_low(ax: Axes, min_height: float, advice: str = "") -> None:
    """Given axes lower than so many inches are refused, with the size of the figure that would do."""
    width, height, figure_width, figure_height = (
        side / ax.figure.dpi for side in (*ax.bbox.size, *ax.figure.bbox.size)
    )
    if height < min_height:
        enough = np.ceil(10 * figure_height * min_height / height) / 10
        raise InputError(
            f"axes of {width:.1f} × {height:.1f} inches are too small here: give figsize=({figure_width:g}, {enough:.1f}){advice}"
        )


def tidy(
    axes: Axes, title: str = "", grid: Literal["", "x", "y"] = "", size: float = TITLE
) -> None:
    """Axes with small muted ticks, no frame above and at the right, a title at the left, and faint lines across x or y."""
    if grid:
        axes.grid(axis=grid, color=FAINT, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    if is_ours(axes):
        look: Options = {"loc": "left", "fontsize": size, "fontweight": "bold"}
        axes.set_title(wrap_title(axes, title), **look)
    else:
        axes.set_title(wrap_title(axes, title))
        wrap_own_labels(axes)
        axes.add_artist(OwnTexts())
    if is_ours(axes) or current_look().fontsize:
        axes.tick_params(labelsize=TICKS, length=2.5, color=MUTED)
        axes.xaxis.label.set(size=FONTSIZE)
        axes.yaxis.label.set(size=FONTSIZE)
    margin = Bbox.from_extents(-MARK, -MARK, 1 + MARK, 1 + MARK)
    for line in axes.lines:  # marks at the ends of an axis are seen whole
        line.set_clip_box(TransformedBbox(margin, axes.transAxes))


def is_ours(axes: Axes) -> bool:
    """False for axes that a user gives, whose titles and fonts are as in the user's other panels."""
    return isinstance(axes.get_figure(root=True), Drawing)


def wrap_own_labels(axes: Axes) -> None:
    """Breaks the labels of given axes where they would reach beyond these."""
    for axis, side in ((axes.xaxis, axes.bbox.width), (axes.yaxis, axes.bbox.height)):
        axis.set_label_text(_fold_own(axes, axis.label, axis.label.get_text(), side))


def _fold_own(axes: Axes, label: Text, text: str, pixels: float) -> str:
    """The text in lines that a side of given axes has room for."""
    letter = LABEL_LETTER * float(label.get_fontsize()) / FONTSIZE
    lines = wrap_lines(text.replace(SOFT, " "), REACH * pixels / axes.figure.dpi, letter)
    return lines.replace("\n", SOFT)


def wrap_title(axes: Axes, title: str) -> str:
    """The title in lines that the panel's share of the figure, or given axes, have room for."""
    if not is_ours(axes):
        return _fold_own(axes, axes.title, title.replace("\n", ", "), axes.bbox.width)
    spec = axes.get_subplotspec()
    columns = spec.get_gridspec().ncols / len(spec.colspan) if spec else 1
    width = axes.figure.bbox.width / axes.figure.dpi / columns
    lines = (wrap_lines(line, width, BOLD_LETTER) for line in title.split("\n"))
    return "\n".join(line.replace("\n", SOFT) for line in lines)


def _wrap_labels(figure: Figure, engine: LayoutEngine) -> None:
    """Breaks titles and labels of panels where they would leave these."""
    engine.execute(figure)
    lefts = [axes.get_position().x0 for axes in figure.axes if axes.get_title(loc="left")]
    for axes in figure.axes:
        x_left, title = axes.get_position().x0, axes.get_title(loc="left")
        height = axes.get_position().height * figure.get_figheight()
        axes.set_ylabel(wrap_lines(axes.get_ylabel(), height, LABEL_LETTER))
        width = REACH * axes.get_position().width * figure.get_figwidth()
        axes.set_xlabel(wrap_lines(axes.get_xlabel(), width, LABEL_LETTER))
        right = min((x for x in lefts if x > x_left + 0.05), default=1.0)
        texts = axes.findobj(Text) if title else ()
        for text in texts:
            if text.get_text() == title:
                letter = BOLD_LETTER * float(text.get_fontsize()) / TITLE
                whole_lines = title.replace(SOFT, " ")
                width = (right - x_left) * figure.get_figwidth()
                text.set_text(wrap_lines(whole_lines, width, letter))


def fit_across(n: int, min_width: float) -> int:
    """How many of ``n`` panels, each at least so many inches wide, stand beside each other in the width that is asked for."""
    width = current_look().inches
    return n if width is None else max(1, min(n, int(width / min_width)))


def wrap_lines(text: str, width: float, letter: float = BOLD_LETTER, indent: str = "") -> str:
    """The text in lines of so many inches."""
    characters = max(12, int(width / letter))
    lines = [wrap(line, characters, subsequent_indent=indent) or [""] for line in text.split("\n")]
    return "\n".join(row for rows in lines for row in rows)


def headline(figure: AnyFigure, title: str, **look: Any) -> None:
    """The title above several panels."""
    size = title_size()
    title = wrap_lines(title, figure.bbox.width / figure.dpi, BOLD_LETTER * size / TITLE)
    figure.suptitle(title, fontsize=size, fontweight="bold", **{"x": 0.01, "ha": "left", **look})


def title_size() -> float:
    """Points of the title of a figure; fewer in a column of a paper."""
    return PANEL_TITLE if current_look().is_narrow else TITLE


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """The file of a figure, written whole or not at all.

    Args:
        figure: The figure.
        path: The file, whose ending is .pdf, .svg or .png.

    Returns:
        Its path.

    Raises:
        InputError: Another ending, or a file that cannot be written.

    Examples:
        >>> figure = tp.draw("attention", store, head=0)
        >>> tp.figures.save(figure, "map.png").name
        'map.png'
    """
    check_ending(path, FORMATS)
    with whole(path) as file:
        figure.savefig(file)
    return Path(path)


def check_ending(path: str | os.PathLike[str], endings: Sequence[str]) -> None:
    """A file of another ending is refused."""
    if Path(path).suffix.lower() not in endings:
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise InputError(f"cannot write {Path(path).name!r}: give a file that ends in {listed}")
