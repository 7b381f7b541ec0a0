"""How a figure looks where somebody asks for it: its size, fonts, colors, and other words for its labels."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from matplotlib.colors import is_color_like

from tprprobe.errors import InputError, unknown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SOFT = " \n"  # a break of a text that moves with the room for it
NARROW = 4  # inches, below which a figure stands in a column of a paper
FONTSIZE, TICKS = 8, 7  # points of the labels of axes and of their ticks
WORD = 60  # characters of a text that the error of an unknown one lists
LINE = 1.3  # points, the width of a line
# Inches of a column of text; acl and icml have two columns, whose pages are 6.3 and 6.75 wide.
WIDTHS = {"acl": 3.03, "icml": 3.25, "neurips": 5.5, "iclr": 5.5, "page": 6.3}


@dataclass(frozen=True)
class Look:
    """How a figure looks, where that is not what it chooses by itself."""

    width: float | str | None = None
    height: float | None = None
    fontsize: float | None = None
    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    colors: Sequence[str] | Mapping[str, str] | None = ()
    dpi: float | None = None
    style: str | os.PathLike[str] | None = None
    ylim: Sequence[float] | None = None
    legend: bool = True
    notes: bool = True
    panel: int | str | None = None
    color_readers: list[str] = field(default_factory=list, repr=False)  # what has read colors
    cycle: Sequence[str] = field(default=(), repr=False)  # the colors of the style file
    line_width: float = field(default=LINE, repr=False)

    @property
    def inches(self) -> float | None:
        """The width as a number."""
        if self.width is None:
            return None
        try:
            return WIDTHS[str(self.width)] if str(self.width) in WIDTHS else float(self.width)
        except ValueError:
            raise unknown("width", self.width, ("a number of inches", *WIDTHS)) from None

    @property
    def is_narrow(self) -> bool:
        """Whether the figure stands in a column of a paper."""
        return self.inches is not None and self.inches < NARROW

    @property
    def palette(self) -> list[str]:
        """The colors of all that is drawn; none where they are of lines by name."""
        if isinstance(self.colors, Mapping):
            return []
        self.color_readers.append("palette")
        return list(self.colors or ())

    @property
    def named_colors(self) -> Mapping[str, str]:
        """The colors of lines by name."""
        if not isinstance(self.colors, Mapping):
            return {}
        self.color_readers.append("names")
        return self.colors

    def check_colors(self, name: str) -> None:
        """Colors that nothing in a drawn figure has taken are refused."""
        if self.colors and not self.color_readers:
            kind = " by name" if isinstance(self.colors, Mapping) else ""
            raise InputError(f"{name} has no colors{kind} to choose: leave colors out")

    def name_panels(self, names: Sequence[str], title: str) -> tuple[list[str], str]:
        """The titles of panels, and that above them; one that is asked for stands above a single panel in place of its name."""
        is_named = len(names) == 1 and self.title is not None
        return ([str(self.title)], "") if is_named else (list(names), title)

    @property
    def scale(self) -> float:
        """How much larger texts are than usual."""
        return self.fontsize / FONTSIZE if self.fontsize else 1.0

    def measure(self, width: float, height: float, keeps_shape: bool) -> tuple[float, float]:
        """The size of a figure that would choose ``width`` and ``height``."""
        new_width = self.inches or (
            width * self.height / height if keeps_shape and self.height else width
        )
        return new_width, self.height or (height * new_width / width if keeps_shape else height)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Figures that are made meanwhile have this look, and matplotlib the settings of the style file."""
        import matplotlib.style

        colors = self.colors.values() if isinstance(self.colors, Mapping) else self.colors
        if bad := [color for color in colors or () if not is_color_like(color)]:
            advice = "give names or #RRGGBB (those of lines by name: in Python, colors={'hidden': 'red'})"
            raise InputError(f"no color {bad[0]}: {advice}")
        _ = self.inches
        if self.ylim is not None and (len(self.ylim) != 2 or self.ylim[0] == self.ylim[1]):
            raise InputError(f"ylim {self.ylim}: give the lower and the upper end, such as .6,1")
        with matplotlib.rc_context({"lines.linewidth": LINE}):
            settings = matplotlib.rcParams
            usual_cycle = settings["axes.prop_cycle"]
            styles = [] if self.style is None else [str(self.style)]
            if not {*styles} <= {*matplotlib.style.available}:
                styles = [
                    str(Path(styles[0]).resolve())
                ]  # of `a.b` matplotlib imports the module a
            try:
                matplotlib.style.use(styles)
            except (OSError, ValueError) as error:
                raise InputError(
                    f"no style {self.style}: give a file .mplstyle ({error})"
                ) from error
            cycle = settings["axes.prop_cycle"]
            own_colors = cycle.by_key().get("color", ()) if cycle is not usual_cycle else ()
            look = replace(self, cycle=own_colors, line_width=settings["lines.linewidth"])
            token = _LOOK.set(look)
            try:
                yield
            finally:
                _LOOK.reset(token)

    def finish(self, figure: "Figure") -> None:
        """Gives a figure that was made with this look its title, words, fonts and resolution."""
        if self.title is not None and not figure.get_suptitle() and len(figure.axes) == 1:
            figure.axes[0].set_title(self.title, loc="left")
        elif self.title is not None:
            figure.suptitle(self.title)
        self.write([figure])
        if hasattr(figure, "file_dpi"):
            figure.place_notes(self.rename)  # type: ignore[attr-defined]
            if self.height:
                figure.fit_height(self.height)  # type: ignore[attr-defined]
            figure.file_dpi = self.dpi or figure.file_dpi  # type: ignore[attr-defined]

    def write(self, artists: Sequence["Artist"]) -> None:
        """Gives the texts of figures or axes their words and sizes."""
        from matplotlib import rcParams
        from matplotlib.axes import Axes
        from matplotlib.text import Text

        panels: list[Any] = [panel for artist in artists for panel in artist.findobj(Axes)]
        texts: list[Any] = [text for artist in artists for text in artist.findobj(Text)]
        axes = [axis for panel in panels for axis in (panel.xaxis, panel.yaxis)]
        named = {axis: names for axis in axes if (names := named_ticks(axis))}
        for panel in panels:
            if self.ylim and panel.axison and panel.get_label() != "<colorbar>":
                panel.set_ylim(*self.ylim)
                for line in panel.lines:
                    line.set_clip_box(panel.bbox)
        lines = [handle for panel in panels for handle in panel.get_legend_handles_labels()[0]]
        words = [text.get_text() for text in texts] + [line.get_label() for line in lines]
        self.check_labels([*words, *chain(*named.values())])
        for line in lines if self.labels else ():  # of legends that are made later
            line.set_label(self.rename(line.get_label()))
        for axis, ticks in named.items() if self.labels else ():
            axis.set_ticklabels([self._rename_lines(text) for text in ticks])
        for text in texts:
            text.set_text(self._rename_lines(text.get_text()))
            text.set_fontsize(self.scale * text.get_fontsize())
            if self.style is not None:  # given axes have had another font
                text.set_fontfamily(rcParams["font.family"])
        for axis in axes if self.style is not None else ():  # ticks of a later layout, too
            axis.set_tick_params(labelfontfamily=rcParams["font.family"])
        for axis in {*axes} - {*named} if self.scale != 1 else ():
            axis.set_tick_params(labelsize=self.scale * TICKS)

    def check_labels(self, texts: Sequence[str]) -> None:
        """Words that have another one are in the texts of the figure."""
        absent = [name for name in self.labels if not any(map(_find_word(name).search, texts))]
        if absent:
            words = [" ".join(text.split()) for text in texts if any(map(str.isalpha, text))]
            words = [text for text in words if len(text) <= WORD]
            raise unknown("text of this figure", absent[0], dict.fromkeys(words))

    def rename(self, text: str) -> str:
        """The text with other words for some."""
        for name, label in self.labels.items():
            text = _find_word(name).sub(label.replace("\\", r"\\"), text)
        return text

    def _rename_lines(self, text: str) -> str:
        """The text with other words in as long lines."""
        content = text.replace(SOFT, " ")
        renamed = self.rename(content)
        return text if renamed == content else _fold_as(text, renamed)


def _find_word(name: str) -> re.Pattern[str]:
    """A word or number, or several across lines, that is no part of another one, nor of the name of a site: ``hidden`` is not in ``encoder.hidden``."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<!\w)(?<!\w\.){words}(?!\w)(?!\.\w)")


def named_ticks(axis: "Axis") -> list[str]:
    """The names at the ticks of an axis; none where these are numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    is_fixed = isinstance(axis.get_major_locator(), FixedLocator)
    is_named = is_fixed and isinstance(axis.get_major_formatter(), FuncFormatter)
    return [label.get_text() for label in axis.get_ticklabels()] if is_named else []


def _fold_as(text: str, renamed: str) -> str:
    """Other words in lines as long as those of the text, where it has soft breaks."""
    room = max(map(len, text.split("\n"))) if SOFT in text else max(map(len, renamed.split("\n")))
    lines = [wrap(line, max(room, 1), break_on_hyphens=False) for line in renamed.split("\n")]
    return "\n".join(map(SOFT.join, lines))


_LOOK: ContextVar[Look] = ContextVar("look")
USUAL = Look()


def current_look() -> Look:
    """The look of figures that are made now."""
    return _LOOK.get(USUAL)
