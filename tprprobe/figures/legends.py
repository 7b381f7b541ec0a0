"""Legends below what they explain, in as few lines as the width allows."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tprprobe.figures.look import SOFT, current_look
from tprprobe.figures.style import LETTER, MARK, SMALL, AnyFigure, Options, refuse_low

MAX_COLUMNS, HANDLE, LEADING = 4, 0.35, 1.3  # inches of a mark and gaps; font sizes a line
MIN_HEIGHT = 0.2  # inches of given axes above their legend


def fold_labels(labels: Sequence[str], width: float) -> tuple[int, list[str], int]:
    """Columns, labels broken into lines, and lines of the lowest legend in so many inches."""
    letter = LETTER * legend_size() / SMALL * current_look().scale
    layouts: list[tuple[int, int, list[str]]] = []
    for n in range(1, min(MAX_COLUMNS, len(labels)) + 1):
        room = int((width / n - HANDLE) / letter)
        if n > 1 and room < max(len(word) for label in labels for word in label.split()):
            break
        texts = [SOFT.join(wrap(label, max(room, 12), break_on_hyphens=False)) for label in labels]
        heights = [sum(text.count("\n") + 1 for text in part) for part in np.array_split(texts, n)]
        layouts.append((max(heights), n, texts))
    n_lines, n_columns, texts = min(layouts)
    return n_columns, texts, n_lines


def legend_size() -> float:
    """Points of the texts of a legend; fewer in a column of a paper."""
    return 6 if current_look().is_narrow else 7


def legend(figure: AnyFigure | Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Explains what is drawn, below the panels: of a figure of ours, which it lengthens; of given axes, which it shortens."""
    settings = current_look()
    if not (settings.legend and labels):
        return
    columns, texts, n_lines = fold_labels(labels, figure.bbox.width / figure.figure.dpi)
    size = legend_size()
    place: Options = {"fontsize": size, "labelspacing": 0.25, "handlelength": 2, "columnspacing": 1}
    if isinstance(figure, Axes):
        place |= {"fontsize": 6, "framealpha": 0.8, "edgecolor": "none"}
        names = figure.xaxis.get_tightbbox()
        below = 0.0 if names is None else (figure.bbox.y0 - names.y0) / figure.figure.dpi
        room = below + (n_lines + 2) * LEADING * 6 / 72 * settings.scale
        refuse_low(figure, room + MIN_HEIGHT, ", or leave out the legend (legend=False)")
        if figure.figure.get_layout_engine() is None:
            _make_room(figure, room)
        place |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": columns}
        place |= {"borderaxespad": 12 * below * settings.scale + 0.5}
    else:
        place |= {"loc": "outside lower center", "ncols": columns, "frameon": False}
        if settings.height is None and isinstance(figure, Figure):
            height = n_lines * LEADING * size / 72 * settings.scale
            figure.set_figheight(figure.get_figheight() + height)
    figure.legend(handles=handles, labels=texts, **place)


def _make_room(axes: Axes, inches: float) -> None:
    """Shortens axes, and those beside them, so that so many inches are below, above the title of lower ones."""
    bottom, panels = axes.get_position().y0, axes.figure.axes
    tops = [y for panel in panels if (y := panel.get_position().y1) < bottom]
    inches += 2 * float(axes.title.get_fontsize()) / 72 * bool(tops)
    low = max(tops, default=0) + inches * axes.figure.dpi / axes.figure.bbox.height
    for panel in panels:
        box = panel.get_position()
        if abs(box.y0 - bottom) < MARK and low > bottom:
            panel.set_position((box.x0, low, box.width, max(box.y1 - low, MARK)))
