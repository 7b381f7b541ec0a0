"""Scenes on paper: dots with intervals, lines in panels, squares, several of these."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from tprprobe.figures.colors import palette, text_color
from tprprobe.figures.legends import legend
from tprprobe.figures.line_styles import LEVELS, RING, style_lines
from tprprobe.figures.look import current_look
from tprprobe.figures.maps import Points, paint_points
from tprprobe.figures.scenes import HATCHED, Dots, Grid, Lines, Scene, Shares, Squares
from tprprobe.figures.squares import draw_squares, frame, paint_squares
from tprprobe.figures.strips import Strips, draw_strips
from tprprobe.figures.style import (
    FAINT,
    MUTED,
    PANEL_TITLE,
    AnyFigure,
    Drawing,
    GivenAxes,
    Options,
    check_axes,
    fit_across,
    headline,
    open_panels,
    tidy,
    title_size,
)
from tprprobe.figures.text_sizes import CutMark

ROW, LOW_ROW, MARK_ROW = 0.24, 0.155, 0.08  # inches of a row, of many rows, of a mark of dots
PAGE, TALLEST = 7, 8.2  # inches of a page, of bars without legend and notes
MAX_ROWS, NAMED_PANEL = 15, 3  # rows that are as high; inches of a panel with names of rows
EDGES = (0.3, -0.3, 0.2, -0.2)  # of bars, in rows: where the intervals of parts are drawn
HATCH = "/////"  # of a part that is not shown to be there
EMBEDDING_LAYER = -1  # the layer that stands for the embedding
BANDS = ("-", (0, (7, 2)), (0, (3, 2)))  # of the strongest controls of several models
DASHES = (*LEVELS.values(), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))  # of other levels
LEGIBLE, TICK = 0.24, 0.27  # inches of a part that a number is written on, of a tick of layers
MAX_MARKERS, MAX_TICKS = 16, 8  # points of a line with markers, and of an axis with a tick each


def render(scene: Scene | Drawing, ax: GivenAxes | None = None) -> Any:
    """The scene as a figure of matplotlib; in ``ax``, one for every panel, where these are given. A drawing is a figure already."""
    if isinstance(scene, Drawing):
        return scene
    axes = None if ax is None else check_axes(ax, scene.panels)
    draw = {Shares: _draw_shares, Squares: draw_squares, Grid: _draw_grid}
    if isinstance(scene, Strips):
        figure = draw_strips(scene, None if axes is None else axes[0, 0])
    elif isinstance(scene, Dots | Points):
        figure = _draw_grid(Grid([scene]), axes)
    elif isinstance(scene, Lines):
        figure = _draw_grid(_list_panels(scene), axes)
    else:
        figure = draw[type(scene)](scene, axes)
    if isinstance(figure, Drawing):
        figure.scene = scene
        if scene.note and not isinstance(scene, Strips):
            figure.put_below(scene.note.splitlines())
    return figure


def _draw_dots(panel: Axes, dots: Dots, styles: Mapping[str, Options]) -> None:
    rows = dots.rows
    names, groups = rows["name"].unique().tolist(), rows["group"].unique().tolist()
    for i, group in enumerate(groups):
        points, style = rows[rows["group"] == group], styles[str(group)]
        y = points["name"].map(names.index).astype(float) + 0.5 * ((i + 0.5) / len(groups) - 0.5)
        panel.hlines(y, points["low"], points["high"], color=style["color"], linewidth=1.2)
        look: Options = {"markersize": 4.5, **style, "linestyle": ""}
        panel.plot(points["value"], y, label=group, **look)
        if "sure" in points and not points["sure"].all():
            is_unsure = ~points["sure"].astype(bool)
            hollow: Options = look | {"markerfacecolor": "white"}
            panel.plot(points["value"][is_unsure], y[is_unsure], **hollow)
    panel.set(ylim=(len(names) - 0.5, -0.5))
    panel.set_yticks(range(len(names)), names, parse_math=False)
    if dots.limits:
        panel.set_xlim(dots.limits)
        panel.axvline(0, color=MUTED, linewidth=0.8)
    if dots.percent:
        panel.xaxis.set_major_formatter(_write_percent)


def _write_thousands(x: Any, _: object) -> str:
    return f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"


def _write_percent(share: float, _: object) -> str:
    return f"{100 * share:g}%".replace("-", "−")


def _draw_shares(shares: Shares, ax: np.ndarray | None) -> AnyFigure:
    """Bars whose parts are side by side, as long as their numbers, which stand where there is room. Estimates may sum to more than 100 %."""
    rows, panels = shares.rows, shares.rows["panel"].unique().tolist()
    names, steps = rows["name"].unique().tolist(), rows["part"].unique().tolist()
    across = fit_across(len(panels), 2)
    down = -(-len(panels) // across)
    row = ROW if len(names) <= MAX_ROWS else LOW_ROW
    height = min((row * len(names) + 0.7) * down + 0.3, TALLEST)
    width = min(0.6 + 3.2 * across, PAGE)
    figure, axes = open_panels(width, height, down, across, ax, sharey=True)
    inches = figure.bbox.width - 0.06 * figure.dpi * max(map(len, names))
    room = inches / axes.shape[1] if ax is None else axes[0, 0].bbox.width
    end = shares.find_end()
    colors = dict(zip(steps, [*palette(len(steps) - 1), to_rgb(FAINT)], strict=True))
    rows = rows if "sure" in rows else rows.assign(sure=True, low=np.nan, high=np.nan)
    titles, above = current_look().name_panels(panels, shares.title)
    for panel, name, title in zip(axes.flat, panels, titles, strict=True):
        table = rows[rows["panel"] == name].pivot(index="name", columns="part")
        for unsettled in table.index[table["value"].isna().all(axis=1)]:
            look: Options = {"va": "center", "fontsize": 6.5, "color": MUTED}
            panel.text(0.01 * end, names.index(unsettled), "not settled", **look)
        table = table.reindex(names)
        values = table["value"][steps].clip(lower=0).fillna(0)
        starts = values.cumsum(axis=1) - values
        for step, edge in zip(steps, cycle(EDGES), strict=False):
            has_bars = (rows.loc[rows["part"] == step, "value"] > 0).any()
            panel.barh(0, 0, color=colors[step], label=step if has_bars else "")
            bars = panel.barh(
                range(len(names)), values[step], 0.72, starts[step], color=colors[step]
            )
            for y, bar in enumerate(bars):
                start, value = bar.get_x(), bar.get_width()
                low, high, is_sure = (
                    table[column][step].iloc[y] for column in ("low", "high", "sure")
                )
                if not is_sure and step != steps[-1]:
                    bar.set(facecolor="white", edgecolor=colors[step], hatch=HATCH, linewidth=0)
                elif is_sure and high > low:
                    panel.hlines(y + edge, start + low, start + high, color=MUTED, linewidth=0.9)
                if is_sure and step != steps[-1] and value * room / end >= LEGIBLE * figure.dpi:
                    look = {"ha": "center", "va": "center", "fontsize": 6.5}
                    look |= {"color": text_color(colors[step])}
                    panel.text(start + value / 2, y, f"{value:.0%}", **look)
        panel.set(xlim=(0, end), ylim=(len(names) - 0.4, -0.6))
        if end > 1:
            panel.axvline(1, color=MUTED, linewidth=0.8)
        panel.set_yticks(range(len(names)), names, parse_math=False)
        panel.xaxis.set_major_formatter(PercentFormatter(1))
        tidy(panel, title, size=PANEL_TITLE)
    if any(bar.get_hatch() and bar.get_width() for panel in axes.flat for bar in panel.patches):
        look = {"color": "white", "edgecolor": MUTED, "hatch": HATCH, "linewidth": 0}
        axes[0, 0].barh(0, 0, label=HATCHED, **look)
    for panel in axes[-1]:
        panel.set_xlabel(shares.label)
    if above and ax is None:
        headline(figure, above)
    _explain(figure, axes, ax is not None)
    return figure


def _list_panels(lines: Lines) -> Grid:
    names = lines.panels
    titles = names if len(names) > 1 else [lines.title or names[0]]
    pictures = [replace(lines.choose(i), title=title) for i, title in enumerate(titles)]
    return Grid(pictures, lines.across, title=lines.title if len(names) > 1 else "")


def draw_panel(panel: Axes, lines: Lines, name: str, styles: Mapping[str, Options]) -> None:
    """One panel: lines with the bands of their intervals, over the band of the strongest control."""
    bands = lines.named_bands
    by_line = bands[bands["panel"] == name].groupby("line", sort=False)
    for dashes, (label, band) in zip(cycle(BANDS), by_line, strict=False):
        x = band["x"].astype(float)
        panel.fill_between(x, band["low"], band["high"], color=FAINT, linewidth=0)
        look: Options = {"linestyle": dashes, "marker": "" if len(band) > 1 else "."}
        panel.plot(x, band["value"], color=MUTED, linewidth=0.9, label=label, **look)
    for line, points in lines.rows[lines.rows["panel"] == name].groupby("line", sort=False):
        _draw_line(panel, points, str(line), styles[str(line)])
    if lines.hollow and not lines.rows["sure"].all():
        has_pairs = lines.rows["line"].str.startswith("_").any()  # of a full and a hollow line
        dashes = ":" if has_pairs else ""
        empty: Options = {"color": MUTED, "marker": "o", "linestyle": dashes, "markersize": 4}
        panel.plot([], [], label=lines.hollow, markerfacecolor="white", **empty)
    levels = lines.levels[lines.levels["panel"] == name]
    for i, level in enumerate(levels.to_dict("records")):
        dash = LEVELS.get(level["line"], DASHES[i % len(DASHES)])
        look = {"color": MUTED, "linewidth": 0.9, "linestyle": dash}
        panel.axhline(level["value"], label=level["line"], **look)
    if lines.log:
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_major_formatter(_write_thousands)
        ticks = lines.rows["x"].unique()
        panel.set_xticks(sorted(ticks) if len(ticks) <= MAX_TICKS else panel.get_xticks())
    elif lines.x == "step":
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panel.xaxis.set_major_formatter(_write_thousands)
    elif not (lines.rows["x"] % 1).any():  # layers
        ticks = _list_ticks(panel, lines.ticks)
        panel.set_xticks([*ticks], [*ticks.values()])
    if lines.log_value:
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
    if lines.is_percent(name):
        panel.yaxis.set_major_formatter(_write_percent)
    if lines.limits:
        siblings = panel.get_shared_y_axes().get_siblings(panel)
        ends = [axes.get_ylim() for axes in siblings if axes is not panel and axes.lines]
        lows, highs = zip(lines.limits, *ends, strict=True)  # of given axes that share theirs, too
        panel.set_ylim(*(None if None in x else f(x) for f, x in ((min, lows), (max, highs))))
        if (lines.limits[0] or 0) > 0 and not current_look().ylim:
            look = {"ha": "center", "va": "center", "fontsize": 8, "color": MUTED, "zorder": 9}
            look |= {"bbox": {"facecolor": panel.get_facecolor(), "edgecolor": "none", "pad": 0.2}}
            panel.add_artist(CutMark(0, 0.05, "≈", transform=panel.transAxes, **look))


def _list_ticks(panel: Axes, names: Mapping[float, str]) -> dict[float, str]:
    """The layers whose ticks lie apart, at equal distances where these are more than half as many; the name of the embedding is lower where it has no room."""
    numbers = sorted(names)
    gap = TICK * (numbers[-1] - numbers[0]) * panel.figure.dpi / panel.bbox.width
    ticks = {x: "\n" * int(gap > 1) + names[x] for x in numbers if x == EMBEDDING_LAYER}
    layers, apart = numbers[len(ticks) :], list[float]()
    for number in layers:
        if not apart or number - apart[-1] >= gap:
            apart.append(number)
    steps = range(max(1, math.ceil(gap)), int(numbers[-1] - numbers[0]) + 1)
    even = [[x for x in layers if (x - layers[0]) % step == 0] for step in steps]
    widest = max(even, key=len, default=[])
    return ticks | {x: names[x] for x in (widest if 2 * len(widest) > len(apart) else apart)}


def _draw_line(panel: Axes, points: pd.DataFrame, name: str, style: Options) -> None:
    x, sure, color = points["x"].astype(float), points["sure"].astype(bool), style["color"]
    if len(points) > 1:
        panel.fill_between(x, points["low"], points["high"], color=color, alpha=0.18, linewidth=0)
    else:  # a band of no width is not seen
        panel.vlines(x, points["low"], points["high"], color=color, linewidth=0.9)
    look = {"markersize": 4, **style}
    if len(points) >= MAX_MARKERS:
        look |= {"markevery": (~sure).to_numpy()} if not sure.all() else {"marker": ""}
    panel.plot(x, points["value"], linewidth=current_look().line_width, label=name, **look)
    if not sure.all():
        hollow = {"markersize": 4, **style, "linestyle": "", "markerfacecolor": "white"}
        panel.plot(x[~sure], points["value"][~sure], **hollow)
    if "best" in points and points["best"].any():
        best = points["best"].astype(bool)
        ring = {"marker": "o", "markersize": 9, "linestyle": "", "markerfacecolor": "none"}
        panel.plot(x[best], points["value"][best], color=color, **ring)
        ring |= {"markersize": 6, "color": MUTED, "label": RING}
        panel.plot([], [], **ring)


def _draw_grid(grid: Grid, ax: np.ndarray | None) -> AnyFigure:
    pictures, n = grid.pictures, len(grid.pictures)
    plots = [picture for picture in pictures if isinstance(picture, Lines | Dots)]
    is_alike = len({picture.label for picture in plots if isinstance(picture, Lines)}) == 1
    is_same_x = (
        is_alike and len({picture.x for picture in plots if isinstance(picture, Lines)}) == 1
    )
    across = _fit_across(grid, is_alike)
    figure, axes = _open_grid(grid, across, ax)
    tables = [picture.rows.assign(line=picture.lines) for picture in plots]
    styles = style_lines(pd.concat(tables, ignore_index=True)) if tables else {}
    size = PANEL_TITLE if n > 1 else title_size()
    across = axes.shape[1]
    for i, (picture, panel) in enumerate(zip(pictures, axes.flat, strict=False)):
        title = "" if n == 1 and current_look().title == "" else picture.title
        if isinstance(picture, Lines):
            draw_panel(panel, picture, picture.panels[0], styles)
            is_left, is_last = i % across == 0, i + across >= n and (i == n - 1 or n % across != 1)
            panel.set_xlabel(picture.x if is_last or not is_same_x else "")
            panel.set_ylabel(picture.label if is_left or not is_alike else "")
            tidy(panel, title, "y", size)
        elif isinstance(picture, Dots):
            _draw_dots(panel, picture, styles)
            panel.set_xlabel(picture.label)
            tidy(panel, title, "x", size)
        elif isinstance(picture, Points):
            paint_points(panel, picture)
            tidy(panel, title, size=size)
        elif isinstance(picture, Squares):
            paint_squares(panel, picture)
            tidy(panel, title, size=PANEL_TITLE)
            frame(panel)
    if grid.title and ax is None:
        headline(figure, grid.title)
    _explain(figure, axes, ax is not None)
    return figure


def _fit_across(grid: Grid, is_alike: bool) -> int:
    """How many pictures stand in a row: as many as have room, and no fewer in the last row than must be."""
    first, n = grid.pictures[0], len(grid.pictures)
    has_names = isinstance(first, Dots | Squares)
    is_slim = is_alike or isinstance(first, Points)
    min_width = NAMED_PANEL if has_names else 1.5 if is_slim else 2
    across = fit_across(min(grid.across, n), min_width)
    return -(-n // -(-n // across))


def _open_grid(grid: Grid, across: int, ax: np.ndarray | None) -> tuple[AnyFigure, np.ndarray]:
    """A figure with a panel for every picture; one that is alone in the last row is as wide as the others together."""
    pictures = grid.pictures
    n = len(pictures)
    heights = [
        max(_measure_height(picture) for picture in pictures[i : i + across])
        for i in range(0, n, across)
    ]
    width = 0.4 + 3.3 * across
    if isinstance(pictures[0], Lines | Dots):
        width = max(1.7 * across + 2.9, 6.4 * any(isinstance(row, Dots) for row in pictures))
    height = sum(heights) + 0.6
    figure, axes = open_panels(width, height, len(heights), across, ax, height_ratios=heights)
    if ax is None:
        for panel in axes.flat[n:]:
            panel.remove()
        if n % across == 1:
            panel = axes.flat[n - 1]
            panel.set_subplotspec(panel.get_gridspec()[-1, :])
    return figure, axes


def _measure_height(picture: Scene) -> float:
    """The inches of a picture with its title and labels."""
    if isinstance(picture, Lines | Points):
        return 2.8 if isinstance(picture, Points) and not current_look().is_narrow else 2.0
    if isinstance(picture, Squares):
        return 0.24 * len(picture.values) + 0.7
    if not isinstance(picture, Dots):
        raise TypeError(f"no height of {type(picture).__name__}")
    n_groups, n_names = (picture.rows[name].nunique() for name in ("group", "name"))
    row = ROW if n_names <= MAX_ROWS else LOW_ROW
    return max(row, MARK_ROW * n_groups) * n_names + 0.7


def _explain(figure: AnyFigure, axes: np.ndarray, is_given: bool) -> None:
    """One legend of all panels, each line once, those of a model together; in the first panel of axes that are given."""
    handles: dict[str, Artist] = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    models = list(dict.fromkeys(label.partition(": ")[0] for label in handles))
    ranks = {label: models.index(label.partition(": ")[0]) for label in handles}
    labels = sorted(handles, key=lambda label: (label == RING, ranks[label]))
    handles = {label: handles[label] for label in labels}
    if len(handles) > 1:
        legend(axes[0, 0] if is_given else figure, [*handles.values()], [*handles])
