"""The numbers that a figure shows, read from what is drawn: one table for any figure."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

COLUMNS = ("panel", "mark", "series", "x", "y", "value", "text")
Row = dict[str, Any]


def tabulate_drawn(figure: Figure) -> pd.DataFrame:
    """One row per point, bar, cell and text that is drawn, in the units of its panel's axes.

    Columns: panel (its number and title), mark (line, point, bar, cell, text), series (the name in
    the legend, else its number), x, y, value (of a cell), text.
    """
    rows = [
        {"panel": f"{number} {axes.get_title(loc='left') or axes.get_title()}".strip()} | row
        for number, axes in enumerate(figure.axes)
        for row in (*_lines(axes), *_points(axes), *_bars(axes), *_cells(axes), *_texts(axes))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _lines(axes: Axes) -> Iterator[Row]:
    for number, line in enumerate(axes.lines):
        for x, y in np.asarray(line.get_xydata()):
            yield {"mark": "line", "series": _name(line, number), "x": x, "y": y}


def _points(axes: Axes) -> Iterator[Row]:
    for number, points in enumerate(axes.collections):
        if isinstance(points, PathCollection):
            for x, y in np.asarray(points.get_offsets()):
                yield {"mark": "point", "series": _name(points, number), "x": x, "y": y}


def _bars(axes: Axes) -> Iterator[Row]:
    for number, bars in enumerate(axes.containers):
        if isinstance(bars, BarContainer):
            for bar in bars.patches:
                is_horizontal = bars.orientation == "horizontal"
                middle = (
                    bar.get_y() + bar.get_height() / 2 if is_horizontal else bar.get_center()[0]
                )
                end = (
                    {"x": bar.get_width(), "y": middle}
                    if is_horizontal
                    else {"x": middle, "y": bar.get_height()}
                )
                yield {"mark": "bar", "series": _name(bars, number)} | end


def _cells(axes: Axes) -> Iterator[Row]:
    for number, image in enumerate(axes.images):
        cells = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
        if cells.ndim == 2:
            for (y, x), value in np.ndenumerate(cells):
                yield {
                    "mark": "cell",
                    "series": _name(image, number),
                    "x": x,
                    "y": y,
                    "value": value,
                }


def _texts(axes: Axes) -> Iterator[Row]:
    for label in (label for label in axes.texts if isinstance(label, Text) and label.get_text()):
        x, y = label.get_position()
        yield {"mark": "text", "x": x, "y": y, "text": label.get_text()}


def _name(mark: Any, number: int) -> str:
    """The mark's name in the legend; its number if it has none."""
    label = str(mark.get_label())
    return str(number) if label.startswith("_") else label
