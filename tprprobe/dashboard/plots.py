"""Charts for a screen: dots with intervals, lines by layer, squares. Everything in them comes from a scene."""

from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tprprobe.dashboard.chart_data import Dots, Lines, Squares
from tprprobe.dashboard.theme import FONT, MONO, colors, look, shade
from tprprobe.figures.style import text_color
from tprprobe.store.token_texts import LONGEST, visible

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
ACROSS, WIDE = 3, 54  # panels in a row; characters of their titles in a line, together
R2 = "R²"


def plot(scene: Dots | Lines | Squares | None, dark: bool) -> go.Figure:
    """The chart of a scene, without a frame, transparent."""
    draw: Any = {Dots: _plot_dots, Lines: _plot_lines, Squares: _plot_squares}[type(scene)]
    chart, height = draw(scene, dark)
    shades, axis = look(dark), {"zeroline": False, "color": look(dark).soft, "automargin": True}
    titles = [each.text.count("<br>") + 1 for each in chart.layout.annotations if each.text]
    top = 8 + 14 * max(titles) if isinstance(scene, Lines) else 8
    chart.update_layout(
        height=height, paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", dragmode="zoom",
        font={"family": FONT, "size": 13, "color": shades.ink}, margin={"l": 8, "r": 8, "b": 8, "t": top},
        hoverlabel={"font": {"family": MONO, "size": 13}, "align": "left"},
        legend={"orientation": "h", "y": -85 / (height - 110), "yanchor": "top", "traceorder": "normal"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": shades.soft, "activecolor": shades.ink},
    )  # fmt: skip
    chart.update_xaxes(gridcolor=shades.faint, **axis)
    return chart.update_yaxes(gridcolor=shades.faint, **axis)


def _plot_dots(dots: Dots, dark: bool) -> tuple[go.Figure, int]:
    """R² as it is, all else in percent."""
    form, fine = (".2f", ".3f") if dots.label == R2 else (".0%", ".1%")
    rows, groups = dots.rows, dots.rows["group"].unique().tolist()
    said = [
        f"{n}: {v:{fine}} [{a:{fine}}, {b:{fine}}]"
        for n, v, a, b in rows[["name", "value", "low", "high"]].to_numpy()
    ]
    rows = rows.assign(told=said, sure=True, at=[plotted(each, 60) for each in rows["name"]])
    chart = go.Figure(
        [
            _points(part, "at", str(group), shade, SYMBOLS[n % 8], mode="markers", orientation="h")
            for n, ((group, part), shade) in enumerate(zip(rows.groupby("group", sort=False), colors(len(groups)), strict=True))
        ]
    )  # fmt: skip
    chart.update_layout(showlegend=True).update_xaxes(
        _room(rows), title=dots.label, tickformat=form
    )
    chart.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return chart, 140 + 24 * rows["name"].nunique()


def _plot_lines(lines: Lines, dark: bool) -> tuple[go.Figure, int]:
    """Panels side by side: a line with intervals per name, over the band of the strongest control."""
    panels, names = lines.rows["panel"].unique().tolist(), lines.rows["line"].unique().tolist()
    across = min(ACROSS, len(panels))
    down, titles = -(-len(panels) // across), [_title(each, WIDE // across) for each in panels]
    below = 60 + 14 * max(
        each.count("<br>") for each in titles
    )  # ticks of a panel, title of the next
    chart = make_subplots(
        down, across, subplot_titles=titles, horizontal_spacing=0.33 / across,
        vertical_spacing=below / (190 + below) / down,
    )  # fmt: skip
    shades = dict(zip(names, colors(max(len(names), 6))[::-1][: len(names)], strict=True))
    seen: set[str] = set()
    for number, panel in enumerate(panels):
        at: Any = {"row": number // across + 1, "col": number % across + 1}
        for trace in _band(lines.bands[lines.bands["panel"] == panel], dark):
            chart.add_trace(trace, **at)
        for line, part in lines.rows[lines.rows["panel"] == panel].groupby("line", sort=False):
            name, is_new = str(line), line not in seen and len(names) > 1
            seen.add(name)
            trace = _points(
                part, "x", name, shades[line], SYMBOLS[names.index(line) % 8], showlegend=is_new
            )
            chart.add_trace(trace, **at)
        chart.update_yaxes(_room(lines.rows[lines.rows["panel"] == panel]), **at)
    chart.update_annotations(font={"size": 12}).update_layout(showlegend=len(names) > 1)
    chart.update_yaxes(tickformat=".0%" if lines.percent else None).update_yaxes(
        title=lines.label, col=1
    )
    chart.update_xaxes(title=lines.x, row=down).update_xaxes(showgrid=False)
    if lines.x == "layer":  # whole numbers
        first, last = lines.rows["x"].min(), lines.rows["x"].max()
        chart.update_xaxes(dtick=max(1, round((last - first) / 4)), range=[first - 0.6, last + 0.6])
    return chart, 150 + (190 + below) * down


def _room(rows: pd.DataFrame) -> dict[str, Any]:
    """A range for values that are all the same, beside which an axis would go from −1 to 1."""
    low, high = rows["value"].min(), rows["value"].max()
    return {"range": [low - 0.05, high + 0.05]} if high - low < 0.001 else {}


def _title(panel: str, width: int) -> str:
    """In lines that are narrow enough for panels side by side on a telephone."""
    return "<br>".join(wrap(plotted(panel, 80), width))


def _points(
    part: pd.DataFrame, place: str, name: str, color: str, symbol: str, **given: Any
) -> go.Scatter:
    """Values with intervals, upright unless their orientation is h; custom data are the rows of the table."""
    high, low = part["high"] - part["value"], part["value"] - part["low"]
    errors = {"type": "data", "symmetric": False, "thickness": 1, "array": high, "arrayminus": low}
    x, y, error = ("value", place, "x") if "orientation" in given else (place, "value", "y")
    return go.Scatter(
        x=part[x], y=part[y], name=visible(name, 40), legendgroup=name, customdata=part.index.to_numpy()[:, None],
        hovertext=[plotted(each, 160) for each in part["told"]], hoverinfo="text", line={"color": color, "width": 2},
        marker={"size": 9, "symbol": np.where(part["sure"].astype(bool), symbol, f"{symbol}-open").tolist()},
        **{f"error_{error}": errors}, **({"mode": "lines+markers"} | given),
    )  # fmt: skip


def _band(band: pd.DataFrame, dark: bool) -> list[go.Scatter]:
    if len(band) == 1:  # as wide as a mark
        band = pd.concat([band.assign(x=band["x"] + by) for by in (-0.3, 0.3)])
    grey = {"x": band["x"], "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    edge, dotted = {"color": look(dark).faint, "width": 6}, {"color": look(dark).soft, "width": 1, "dash": "dot"}  # fmt: skip
    drawn = [("low", None, edge), ("high", "tonexty", edge), ("value", None, dotted)]
    traces = [go.Scatter(y=band[y], fill=fill, fillcolor=look(dark).faint, line=line, **grey) for y, fill, line in drawn]  # fmt: skip
    return traces if len(band) else []


def _plot_squares(grid: Squares, dark: bool) -> tuple[go.Figure, int]:
    scale = "RdBu_r" if grid.signed else list(look(dark).scale)
    said = "%{z:.2f}" if grid.told is None else "%{customdata}"
    chart = go.Figure(
        go.Heatmap(
            z=grid.values, zmin=-1 if grid.signed else 0, zmax=1, colorscale=scale, showscale=grid.signed, xgap=1, ygap=1,
            colorbar={"thickness": 10, "len": 0.6}, customdata=grid.told, hovertemplate=f"%{{y}}, %{{x}}: {said}<extra></extra>",
            x=[plotted(each, 24) for each in grid.columns], y=[plotted(each, 60) for each in grid.rows],
        )
    )  # fmt: skip
    backs = shade(np.nan_to_num(grid.values.ravel()), dark)
    for at, ink in zip(np.ndindex(grid.values.shape), map(text_color, backs), strict=True):
        if grid.texts is not None and grid.texts[at]:
            chart.add_annotation(x=at[1], y=at[0], text=grid.texts[at], showarrow=False, font={"color": ink, "size": 11})  # fmt: skip
    chart.update_xaxes(title=grid.titles[1], type="category", showgrid=False)
    chart.update_yaxes(title=grid.titles[0], autorange="reversed", type="category", showgrid=False)
    return chart, 110 + min(30, max(14, 500 // max(len(grid.rows), 1))) * len(grid.rows)


def plotted(text: object, longest: int = LONGEST) -> str:
    """The text for a chart, which interprets tags and entities in its texts."""
    shown = visible(text, longest)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
