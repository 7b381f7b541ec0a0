"""Tables: of texts, as Markdown, LaTeX, CSV or a figure."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from tprprobe.console import note
from tprprobe.figures.look import WIDTHS, current_look
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
)
from tprprobe.files.writing import write_file

POINTS, MIN_POINTS = 7.5, 5  # of the text of cells; below the latter a warning says so
CHARACTER, LINE = 0.062, 0.19  # inches, of text of 7.5 points
BOLD = 1.15  # times as wide
NOTE = 0.138  # inches, a line of the caption
SERIF, GUTTER, ACL_PAGE = 0.05, 0.167, 6.3  # inches in LaTeX: a letter, a gap, both columns
SEPARATION, MARGIN = 2.5, 0.12  # characters between columns; inches around the table
NUMBERS = (".csv", ".parquet")  # endings of files of numbers
SYMBOLS = str.maketrans(  # of LaTeX
    {"−": "$-$", "²": "$^2$", "×": r"$\times$", "±": r"$\pm$", "⊗": r"$\otimes$", "⊙": r"$\odot$", "→": r"$\to$"}
    | {"∧": r"$\wedge$", "≈": r"$\approx$", "λ": r"$\lambda$", "Σ": r"$\Sigma$", "·": r"$\cdot$", "…": r"\ldots{}"}
)  # fmt: skip
HYPHEN = re.compile(r"(?<![\w-])-(?=\.?\d)")  # that is a minus


def write_minus(text: str) -> str:
    """The text with minus signs before its negative numbers."""
    return HYPHEN.sub("−", text)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of texts under headings; ``ruled`` are the rows that a thin line is drawn above."""

    cells: pd.DataFrame
    title: str
    caption: str = ""
    ruled: tuple[int, ...] = ()

    def drop_empty(self) -> "Table":
        """The table without columns that have dashes alone."""
        empty = [name for name in self.cells if self.cells[name].eq("–").all()]
        return replace(self, cells=self.cells.drop(columns=empty))

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
        escaped = ([text.replace("|", "\\|") for text in row] for row in rows)
        lines = ["| " + " | ".join(row) + " |" for row in escaped]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.caption]).rstrip() + "\n"

    def latex(self) -> str:
        """The table in LaTeX, with the rules of the booktabs package; its title and caption, ready for ``\\caption``, in comments behind it."""
        style = self.cells.map(write_minus).style.hide(axis="index")
        style.format(escape="latex").format_index(escape="latex", axis=1)
        columns = "".join("r" if is_number else "l" for is_number in self.numeric)
        caption = re.sub(r"([%&_#])", r"\\\1", write_minus(f"{self.title}\n{self.caption}"))
        notes = "".join(f"% {line}\n" for line in caption.splitlines())
        if current_look().is_narrow:
            note(f"{self.title}: {self._fit()}")
        lines = style.to_latex(hrules=True, column_format=columns).splitlines(keepends=True)
        for row in reversed(self.ruled):  # behind the four lines of the heading
            lines.insert(4 + row, "\\midrule\n")
        return ("".join(lines) + notes).translate(SYMBOLS)

    def _fit(self) -> str:
        """What has room for the table in a paper of two columns, and which columns it would have to leave out."""
        texts = {str(name): [str(name), *self.cells[name]] for name in self.cells}
        ends = pd.Series(
            {name: max(map(len, column)) * SERIF + GUTTER for name, column in texts.items()}
        ).cumsum()
        size = f"in \\footnotesize it is {ends.max():.1f} inches wide"
        if ends.max() <= WIDTHS["acl"]:
            return f"{size}, which a column of acl has room for"
        left_out = "; ".join(f"‘{name}’" for name in ends.index[ends > ACL_PAGE])
        advice = f"{size}: use table*, over both columns of acl"
        return f"{advice}, and leave out columns, such as {left_out}" if left_out else advice

    def draw(self, ax: GivenAxes | None = None) -> Any:
        """The table as a figure, or in the place of ``ax``."""
        columns = [[str(name), *map(write_minus, self.cells[name])] for name in self.cells]
        lengths = [max(BOLD * len(heading), *map(len, texts), 0) for heading, *texts in columns]
        widths = [(length + SEPARATION) * CHARACTER for length in lengths]
        caption_width = max(map(len, self.caption.splitlines()), default=0) * LETTER
        width = max(sum(widths), len(self.title) * 0.085, caption_width)
        notes = self.caption.count("\n") + 1 if self.caption else 0
        lines = len(self.cells) + 2.4 + notes * NOTE / LINE
        if ax is None:
            look = current_look()
            size = (look.scale * (width + 2 * MARGIN), look.scale * (lines * LINE + 2 * MARGIN))
            figure = drawing(*size, keeps_shape=True)
            figure.set_layout_engine(None)
            axes = figure.add_axes((0, 0, 1, 1))
            scale = figure.get_figwidth() / size[0]
            if POINTS * scale < MIN_POINTS:
                note(
                    f"{self.title}: its text is {POINTS * scale:.1f} points in that width; "
                    f"give a larger width, or write a .tex file ({self._fit()})"
                )
        else:
            [[axes]], scale = check_axes(ax, [self.title]), 1.0
            figure = axes.figure
        axes.set(xlim=(-MARGIN, width + MARGIN), ylim=(lines + MARGIN / LINE, -MARGIN / LINE))
        axes.set_axis_off()
        self._draw_cells(axes, columns, widths)
        axes.text(0, 0.3, self.title, va="center", fontsize=9, fontweight="bold", color=INK)
        foot: Options = {"va": "top", "fontsize": 6.5, "color": MUTED, "linespacing": 1.5}
        axes.text(0, len(self.cells) + 2.4, self.caption, **foot)
        texts = axes.texts
        for text in texts:
            text.set_fontsize(scale * float(text.get_fontsize()))
        return figure

    def _draw_cells(
        self, axes: Axes, columns: Sequence[Sequence[str]], widths: Sequence[float]
    ) -> None:
        """A heading at line 1.4, the rows below it, and rules as in a printed table."""
        x_left, pad, rows = 0.0, SEPARATION * CHARACTER / 2, len(self.cells)
        for texts, width, is_number in zip(columns, widths, self.numeric, strict=True):
            x, align = (x_left + width - pad, "right") if is_number else (x_left + pad, "left")
            for line, text in enumerate(texts):
                look: Options = {"fontsize": POINTS, "fontweight": "normal" if line else "bold"}
                axes.text(x, line + 1.5, text, ha=align, va="center", parse_math=False, **look)
            x_left += width
        for y, thickness in [(1, 1.0), (2, 0.6), (rows + 2, 1.0)]:
            axes.plot([0, x_left], [y, y], color=INK, linewidth=thickness)
        for row in self.ruled:
            axes.plot([0, x_left], [row + 2, row + 2], color=FAINT, linewidth=0.6)

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
            all(not text[:1].isalpha() for text in self.cells[name]) for name in self.cells.columns
        ]


@dataclass(frozen=True, eq=False)
class PanelTable(Table):
    """A table whose figure has a panel for each of several tables, under its title."""

    panels: Sequence[tuple[str, pd.DataFrame]] = ()

    def choose(self, panel: int | str) -> Any:
        """One panel alone, by its number from 0 or its name."""
        return replace(self, panels=[self.panels[find_panel(panel, [n for n, _ in self.panels])]])
