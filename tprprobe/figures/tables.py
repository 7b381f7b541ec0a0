"""Tables: of texts, as Markdown, LaTeX, CSV or a figure."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.figures.look import SOFT, current_look
from tprprobe.figures.scenes import find_panel
from tprprobe.figures.style import (
    FAINT,
    FORMATS,
    INK,
    LETTER,
    MUTED,
    GivenAxes,
    Options,
    check_axes,
    check_ending,
    drawing,
    save,
    wrap_lines,
)
from tprprobe.files.writing import write_file

POINTS, LEGIBLE, MIN_POINTS = 7.5, 6, 4  # of the text of cells, usual, legible and smallest
CHARACTER, LINE = 0.062, 0.19  # inches, of text of 7.5 points
BOLD = 1.15  # times as wide
NOTE = 0.138  # inches, a line of the caption
EM, GUTTER = 9 / 72, 0.056  # inches in LaTeX: of \\footnotesize, between columns
NARROW_SIGNS = frozenset(" .,:;()[]|il'‘’")
NARROW_SIGN, LETTER_EM = 0.28, 0.44  # parts of an em
WIDER, DRAWN = 2.3, 0.96  # characters of a figure an em of LaTeX; of its width, which columns fill
TITLE_LINE = 0.8  # lines of cells, the height of one of a title
LONGEST = 6.5  # inches, a line of the caption of a narrow table
SCRIPT = 8 / 9  # of the size of text: intervals below numbers
BAR = r"\|"  # of Markdown
BLOCK, SMALL, END = "\x02\x03\x04"  # before the title of a block, before small text, behind both
SEPARATION, NARROW_SEPARATION = 2.5, 1.5  # characters between columns
MARGIN = 0.12  # inches around the table
SYMBOLS = str.maketrans(  # of LaTeX
    {"−": "$-$", "²": "$^2$", "×": r"$\times$", "±": r"$\pm$", "⊗": r"$\otimes$", "⊙": r"$\odot$", "→": r"$\to$"}
    | {BLOCK: r"\rlap{\textit{", SMALL: r"\mbox{\scriptsize{", END: "}}"}
    | {"∧": r"$\wedge$", "≈": r"$\approx$", "λ": r"$\lambda$", "Σ": r"$\Sigma$", "·": r"$\cdot$", "…": r"\ldots{}", "<": r"\textless{}", ">": r"\textgreater{}", "␣": r"\textvisiblespace{}", "Ŝ": r"\hat S"}
)  # fmt: skip
MARKS = re.compile(f"[{BLOCK}{SMALL}{END}]")
NUMBER = re.compile(
    r"([-−+.\d]\S*) ([\[(][-−+.\d][^])]*[\])])(.*)"
)  # with its interval, or its gain
VARIABLE = re.compile(r"\b(\w)\\_(\w)\b")  # with its index
HYPHEN = re.compile(r"(?<![\w-])-(?=\.?\d)")  # that is a minus


def write_minus(text: str) -> str:
    """The text with minus signs before its negative numbers."""
    return HYPHEN.sub("−", text)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of texts under headings; ``ruled`` are the rows that a thin line is drawn above.

    In a column of a paper the columns of ``block`` are titles above their rows, and those of ``spare`` (names, or several left out
    together) are left out where there is no room, the first one first.
    """

    cells: pd.DataFrame
    title: str
    caption: str = ""
    ruled: tuple[int, ...] = ()
    block: tuple[str, ...] = field(default=(), kw_only=True)
    spare: tuple[str | tuple[str, ...], ...] = field(default=(), kw_only=True)

    def drop_empty(self) -> "Table":
        """The table without columns that have dashes alone."""
        empty = [str(name) for name in self.cells if self.cells[name].eq("–").all()]
        return self._drop(empty)

    def choose(self, panel: int | str) -> Any:
        """The rows of one block alone, by its number from 0 or its title."""
        title = self.parts[find_panel(panel, self.parts)]
        rows = self.cells[self._titles == title]
        return replace(self, cells=rows.reset_index(drop=True), ruled=())

    @property
    def parts(self) -> list[str]:
        """What can be drawn alone: the titles of blocks."""
        return list(filter(None, self._titles.unique()))

    @property
    def _titles(self) -> "pd.Series[str]":
        """The title of the block of every row."""
        names = [name for name in self.block if name in self.cells]
        return self.cells[names].agg(", ".join, axis=1)

    def _drop(self, names: Sequence[str]) -> "Table":
        """The table without some columns and the lines of its caption that explain nothing else (``NAME: …``)."""
        cells = self.cells.drop(columns=names)
        lines = [
            line
            for line in self.caption.split("\n")
            if _explains(line, [*map(str, cells)]) or not _explains(line, names)
        ]
        return replace(self, cells=cells, caption="\n".join(lines))

    def reword(self) -> "Table":
        """The table with the title and the words that are asked for."""
        look = current_look()
        title = self.title if look.title is None else look.title
        texts = [cell for cell in self.cells.to_numpy().ravel() if isinstance(cell, str)]
        look.check_labels([title, self.caption, *map(str, self.cells), *texts])
        renamed = self.cells.map(lambda cell: look.rename(cell) if isinstance(cell, str) else cell)
        renamed = renamed.rename(columns=lambda name: look.rename(str(name)))
        return replace(self, cells=renamed, title=title, caption=look.rename(self.caption))

    def markdown(self) -> str:
        """The table in Markdown, its title before and its caption behind it."""
        rules = ["---:" if is_number else "---" for is_number in self.numeric]
        rows = [list(self.cells.columns), rules, *self.cells.to_numpy().tolist()]
        lines = [f"| {' | '.join(text.replace('|', BAR) for text in row)} |" for row in rows]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.caption]).rstrip() + "\n"

    def fit(self, width: float | None) -> "Table":
        """The table in so many inches, as LaTeX and as a figure: intervals below their numbers, names of blocks above these, and what has no room left out."""
        inches, cells = DRAWN * (width or np.inf), self.cells
        blocks = cells[[name for name in self.block if name in cells]]
        titles = list(map(_name_block, blocks.to_numpy().tolist()))
        names = [str(name) for name in cells if name not in blocks]
        columns = {name: _put_below(name, [[text] for text in cells[name]]) for name in names}
        for folds_names in (False, True):  # names stay whole where this suffices
            if _measure(columns) > inches:
                folded = {name: _fold(cells[name], folds_names) for name in names}
                columns = {name: _put_below(name, rows) for name, rows in folded.items()}
        left_out = []
        empty = [name for name in names if cells[name].eq("–").all()]
        for spare in (*empty, *self.spare):
            together = [name for name in np.atleast_1d(spare).tolist() if name in columns]
            if together and _measure(columns) > inches:
                left_out += together
                columns = {name: columns[name] for name in columns if name not in together}
        rows: list[list[str]] = []
        ruled, (headings, *lines_of_rows) = [], zip(*columns.values(), strict=True)
        for i, (title, texts) in enumerate(zip(titles, lines_of_rows, strict=True)):
            is_new = bool(title) and titles[i - 1 : i] != [title]
            ruled += [len(rows)] * ((is_new or i in self.ruled) and i > 0)
            rows += [[f"{BLOCK}{title}{END}", *[""] * (len(texts) - 1)]] * is_new
            rows += [list(line) for line in zip_longest(*texts, fillvalue="")]
        absent = f"Left out in this width: {'; '.join(left_out)}." * bool(left_out)
        lines = self._drop(left_out).caption, absent
        return replace(
            self, cells=pd.DataFrame(rows, columns=list(map(SOFT.join, headings))),
            caption="\n".join(filter(None, lines)), ruled=tuple(ruled),
        )  # fmt: skip

    def latex(self) -> str:
        """The table in LaTeX, with the rules of the booktabs package; its title and caption, ready for ``\\caption``, in comments behind it."""
        width = current_look().inches or np.inf
        table = self.fit(width) if (is_narrow := self._is_too_wide()) else self
        if (needed := table._measure()) > width:
            note(
                f"{self.title}: {needed:.1f} inches are wider than the {width:g} that are asked for: shorten a heading (--label OLD=NEW), or use table*"
            )
        headings = [str(name).split(SOFT) for name in table.cells]
        n_lines = max(map(len, headings), default=1)
        cells = table.cells.map(write_minus)
        if n_lines > 1:
            padded = [[""] * (n_lines - len(lines)) + lines for lines in headings]
            cells.columns = pd.MultiIndex.from_tuples(map(tuple, padded))
        style = cells.style.hide(axis="index")
        style.format(escape="latex").format_index(escape="latex", axis=1)
        columns = "".join("r" if is_number else "l" for is_number in table.numeric)
        columns = f"@{{}}{columns}@{{}}" if is_narrow else columns
        text = style.to_latex(hrules=True, column_format=columns, sparse_columns=False)
        lines = text.splitlines(keepends=True)
        for row in reversed(table.ruled):  # behind the heading and its rules
            lines.insert(3 + n_lines + row, "\\midrule\n")
        if is_narrow:
            lines = ["{\\footnotesize\\setlength{\\tabcolsep}{2pt}%\n", *lines, "}\n"]
        caption = re.sub(r"([%&_#])", r"\\\1", write_minus(f"{table.title}\n{table.caption}"))
        lines += [f"% {line}\n" for line in caption.splitlines()]
        return VARIABLE.sub(r"$\1_\2$", "".join(lines)).translate(SYMBOLS)

    def draw(self, ax: GivenAxes | None = None) -> Any:
        """The table as a figure, or in the place of ``ax``."""
        table = self.fit(current_look().inches) if self._is_too_wide() else self
        return table._draw(ax, current_look().inches)

    def _is_too_wide(self) -> bool:
        """Whether the width that is asked for is a column, or less than the table takes as it is."""
        look = current_look()
        return look.is_narrow or (look.inches or np.inf) < self._measure()

    def _measure(self) -> float:
        """The inches of the table in LaTeX."""
        cells = self.cells.items()
        texts = {
            str(name): [str(name).split(SOFT), *([c] for c in column if BLOCK not in c)]
            for name, column in cells
        }
        return _measure(texts)

    def _draw(self, ax: GivenAxes | None, inches: float | None = None) -> Any:
        """The table as it is, its title and caption in lines of its width where a figure of so many ``inches`` has no other."""
        names = {name: str(name).replace(SOFT, "\n") for name in self.cells}
        columns = [[text, *map(write_minus, self.cells[name])] for name, text in names.items()]
        lengths = [max(BOLD * _count(name), *map(_count, texts), 0) for name, *texts in columns]
        gap = SEPARATION if inches is None else NARROW_SEPARATION
        widths = [(length + gap) * CHARACTER for length in lengths]
        has_notes = ax is None and current_look().notes
        title, caption, scale = self.title, self.caption * has_notes, 1.0
        caption_width = max(map(len, caption.splitlines()), default=0) * LETTER
        width = max(sum(widths), len(title) * 0.085, min(caption_width, LONGEST))
        caption = wrap_lines(caption, width, LETTER)
        if inches:
            width = max(sum(widths), inches - 2 * MARGIN)
            scale = inches / (width + 2 * MARGIN)
            title = wrap_lines(title, width, 0.085 / scale)
            caption = wrap_lines(self.caption * has_notes, width, LETTER / scale)
        n_head = max(heading.count("\n") for heading, *_ in columns) + 1
        top = 1.0 if inches is None else 0.2 + TITLE_LINE / scale * (title.count("\n") + 1)
        foot = top + n_head + len(self.cells) + 0.4
        lines = foot + (caption.count("\n") + 1) * bool(caption) * NOTE / LINE / scale
        if ax is None:
            enlarged = current_look().scale
            size = (enlarged * (width + 2 * MARGIN), enlarged * (lines * LINE + 2 * MARGIN))
            figure = drawing(*size, keeps_shape=True)
            figure.set_layout_engine(None)
            axes = figure.add_axes((0, 0, 1, 1))
            text_scale = figure.get_figwidth() / size[0]
        else:
            [[axes]] = check_axes(ax, [self.title])
            figure = axes.figure
            size = (width + 2 * MARGIN, lines * LINE + 2 * MARGIN)
            text_scale = min(1.0, *np.asarray(axes.bbox.size) / (figure.dpi * np.array(size)))
        if (points := POINTS * text_scale) < MIN_POINTS:
            sides = [f"{np.ceil(10 * side * MIN_POINTS / POINTS) / 10:g}" for side in size]
            raise InputError(
                f"{self.title}: its text would have {points:.1f} points in this room: give {' × '.join(sides)} inches "
                "or more, or write the table (--out NAME.tex, .md, .csv)"
            )
        axes.set(xlim=(-MARGIN, width + MARGIN), ylim=(lines + MARGIN / LINE, -MARGIN / LINE))
        axes.set_axis_off()
        if inches and points < LEGIBLE:
            note(
                f"{self.title}: letters of cells have {points:.1f} points, to fit {inches:g} inches"
            )
        self._draw_cells(axes, columns, widths, (top, n_head))
        look: Options = {"fontsize": 9 / scale ** bool(inches), "fontweight": "bold", "color": INK}
        axes.text(0, 0, title, va="top", **look)
        look = {"fontsize": 6.5 / scale, "color": MUTED, "linespacing": 1.5}
        axes.text(0, foot, caption, va="top", **look)
        for text in axes.texts:  # small ones are not smaller than others have to be
            text.set_fontsize(max(min(LEGIBLE, points), text_scale * float(text.get_fontsize())))
        return figure

    def _draw_cells(
        self,
        axes: Axes,
        columns: Sequence[Sequence[str]],
        widths: Sequence[float],
        places: tuple[float, int],
    ) -> None:
        """Headings from line ``top`` on, the rows below them, and rules as in a printed table."""
        (top, n_head), x_left, pad = places, 0.0, NARROW_SEPARATION * CHARACTER / 2
        y_first = top + n_head
        for (heading, *texts), width, is_number in zip(columns, widths, self.numeric, strict=True):
            x, align = (x_left + width - pad, "right") if is_number else (x_left + pad, "left")
            look: Options = {"ha": align, "va": "center", "parse_math": False, "fontsize": POINTS}
            axes.text(x, y_first - 0.15, heading, **{**look, "fontweight": "bold", "va": "bottom"})
            for line, text in enumerate(texts):
                font: Options = {"fontsize": SCRIPT * POINTS} if SMALL in text else {}
                font |= {"fontstyle": "italic"} if BLOCK in text else {}
                axes.text(x, y_first + line + 0.5, MARKS.sub("", text), **{**look, **font})
            x_left += width
        for y, thickness in [(top, 1.0), (y_first, 0.6), (y_first + len(self.cells), 1.0)]:
            axes.plot([0, x_left], [y, y], color=INK, linewidth=thickness)
        for row in self.ruled:
            axes.plot([0, x_left], [y_first + row, y_first + row], color=FAINT, linewidth=0.6)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """The file: a figure, or by its ending Markdown, LaTeX, CSV or Parquet."""
        path = Path(path)
        texts: dict[str, Callable[[], str | bytes]] = {
            ".md": self.markdown,
            ".tex": self.latex,
            ".csv": lambda: self.cells.to_csv(index=False),
            ".parquet": lambda: self.cells.to_parquet(index=False),
        }
        check_ending(path, (*texts, *FORMATS))
        write = texts.get(path.suffix.lower())
        return write_file(path, write()) if write else save(self.draw(), path)

    @property
    def numeric(self) -> Sequence[bool]:
        """Which columns hold numbers: none of their texts begins with a letter."""
        return [
            all(not text.lstrip(BLOCK)[:1].isalpha() for text in self.cells[name])
            for name in self.cells.columns
        ]


def _explains(line: str, columns: Sequence[str]) -> bool:
    """Whether a line of a caption begins with the name, or the first words, of a column."""
    name = line.partition(":")[0].strip("“”").lower()
    return any(column.lower().startswith(name) for column in columns)


def _name_block(names: Sequence[str]) -> str:
    """The title of a block, in which numbers are of layers."""
    return ", ".join(f"layer {name}" if name.isdecimal() else name for name in names)


def _fold(cells: Iterable[str], folds_names: bool) -> list[list[str]]:
    """Cells in two lines at most, an interval or a gain the second one; names too, or not."""
    numbers = {text: number.groups() for text in cells if (number := NUMBER.fullmatch(text))}
    width = max((_halve(text) for text in cells if text not in numbers), default=1)
    folded = {
        text: [a + end, SMALL + interval + END] for text, (a, interval, end) in numbers.items()
    }
    return [
        folded.get(text) or (wrap(text, width, break_long_words=False) if folds_names else [text])
        for text in cells
    ]


def _halve(text: str) -> int:
    """The characters of the narrowest two lines of a text."""
    widths = range(max(map(len, text.replace("-", "- ").split()), default=1), len(text) + 1)
    return next((width for width in widths if len(wrap(text, width)) <= 2), 1)


def _put_below(name: str, cells: list[list[str]]) -> list[list[str]]:
    """The cells below their heading, which takes no more room than these where its words allow this."""
    room = max((len(MARKS.sub("", line)) for lines in cells for line in lines), default=0)
    return [wrap(name, max(room, *map(len, name.split()))), *cells]


def _count(text: str) -> float:
    """The characters of the longest line of a cell in a figure; the title of a block takes no room."""
    return 0 if BLOCK in text else WIDER * max(map(_count_ems, text.split("\n")))


def _measure(columns: Mapping[str, Sequence[Sequence[str]]]) -> float:
    """The inches of columns of folded cells in LaTeX's ``\\footnotesize``."""
    widths = [
        max(_count_ems(line) for lines in cells for line in lines) for cells in columns.values()
    ]
    return sum(GUTTER + EM * width for width in widths) - GUTTER


def _count_ems(line: str) -> float:
    """The ems of a line in LaTeX, small ones as a part."""
    ems = [
        NARROW_SIGN if sign in NARROW_SIGNS else LETTER_EM if sign.islower() else 0.5
        for sign in MARKS.sub("", line)
    ]
    return sum(ems) * (SCRIPT if SMALL in line else 1)


@dataclass(frozen=True, eq=False)
class PanelTable(Table):
    """A table whose figure has a panel for each of several tables, under its title."""

    panels: Sequence[tuple[str, pd.DataFrame]] = ()

    @property
    def parts(self) -> list[str]:
        return [name for name, _ in self.panels]

    def choose(self, panel: int | str) -> Any:
        """One panel alone, by its number from 0 or its name."""
        return replace(self, panels=[self.panels[find_panel(panel, self.parts)]])
