"""Charts for a screen: dots with intervals, lines by layer, grids of numbers, bars. Everything in them comes from a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from tprprobe.dashboard.safe_text import plotted, visible
from tprprobe.dashboard.theme import FONT, MONO, colours, inks, look, shade

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
ACROSS = 4  # panels in a row
R2 = "R²"


def dress(chart: go.Figure, height: int, dark: bool) -> go.Figure:
    """The chart in the dashboard's look: no frame, no grid, transparent."""
    shades = look(dark)
    chart.update_layout(
        height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)", font={"family": FONT, "size": 13, "color": shades.ink},
        hoverlabel={"font": {"family": MONO, "size": 13}, "align": "left"}, showlegend=False, dragmode="zoom",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": shades.soft, "activecolor": shades.ink},
    )  # fmt: skip
    chart.update_xaxes(showgrid=False, zeroline=False, color=shades.soft, automargin=True)
    chart.update_yaxes(showgrid=False, zeroline=False, color=shades.soft, automargin=True)
    return chart


def plot_dots(rows: pd.DataFrame, label: str, dark: bool) -> go.Figure:
    """Values with intervals: a line per name, a color and symbol per group; R² as it is, all else in percent."""
    form, fine = (".2f", ".3f") if label == R2 else (".0%", ".1%")
    told = f"%{{y}}: %{{x:{fine}}} [%{{customdata[0]:{fine}}}, %{{customdata[1]:{fine}}}]"
    chart = go.Figure()
    groups = rows["group"].unique().tolist()
    for n, (group, colour) in enumerate(zip(groups, colours(len(groups)), strict=True)):
        part = rows[rows["group"] == group]
        errors = {"array": part["high"] - part["value"], "arrayminus": part["value"] - part["low"]}
        chart.add_scatter(
            x=part["value"], y=[plotted(each, 60) for each in part["name"]], mode="markers", name=visible(group, 40),
            customdata=part[["low", "high"]].to_numpy(float), hovertemplate=told,
            error_x={"type": "data", "symmetric": False, **errors},
            marker={"color": colour, "symbol": SYMBOLS[n % len(SYMBOLS)], "size": 9},
        )  # fmt: skip
    dress(chart, 120 + 24 * rows["name"].nunique(), dark)
    chart.update_xaxes(title=label, tickformat=form, showgrid=True, gridcolor=look(dark).faint)
    chart.update_yaxes(autorange="reversed", type="category")
    return _legend(chart)


def _legend(chart: go.Figure) -> go.Figure:
    return chart.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )


@dataclass(frozen=True)
class Lines:
    """Lines by layer in panels: ``rows`` have panel, line, x, value, low, high, told (for the pointer), sure (filled
    marks); ``bands`` have panel, x, value, low, high: the strongest control.
    """

    rows: pd.DataFrame
    bands: pd.DataFrame
    label: str = ""
    x: str = "layer"
    percent: bool = True


def plot_lines(lines: Lines, dark: bool) -> go.Figure:
    """Panels side by side: a line with intervals per name, over the band of the strongest control. The points' custom data
    are the row of the table that they stand for.
    """
    panels, names = lines.rows["panel"].unique().tolist(), lines.rows["line"].unique().tolist()
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    chart = make_subplots(
        down, across, subplot_titles=[_title(each) for each in panels], horizontal_spacing=0.16 / across,
        vertical_spacing=min(0.3, 0.42 / down),
    )  # fmt: skip
    shades = dict(zip(names, colours(max(len(names), 6))[::-1][: len(names)], strict=True))
    for number, panel in enumerate(panels):
        row, column = number // across + 1, number % across + 1
        _add_band(chart, lines.bands[lines.bands["panel"] == panel], (row, column), dark)
        for line, part in lines.rows[lines.rows["panel"] == panel].groupby("line", sort=False):
            drawn: Any = chart.data
            is_new = len(names) > 1 and not any(each.name == line for each in drawn)
            trace = _line(part, str(line), shades[line], SYMBOLS[names.index(line) % 8], is_new)
            chart.add_trace(trace, row=row, col=column)
    chart.update_annotations(font={"size": 12})
    dress(chart, 130 + 210 * down, dark)
    chart.update_layout(
        margin={"t": 62},
        showlegend=len(names) > 1,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "yref": "container"},
    )
    chart.update_yaxes(
        showgrid=True, gridcolor=look(dark).faint, tickformat=".0%" if lines.percent else None
    )
    chart.update_yaxes(title=lines.label, col=1)
    chart.update_xaxes(title=lines.x, row=down)
    return chart


def _title(panel: str) -> str:
    """The first word over the rest: narrow enough for four panels on a telephone."""
    first, _, rest = plotted(panel, 60).partition(" ")
    return f"{first}<br>{rest}" if rest else first


def _line(part: pd.DataFrame, name: str, colour: str, symbol: str, legend: bool) -> go.Scatter:
    errors = {"array": part["high"] - part["value"], "arrayminus": part["value"] - part["low"]}
    filled = np.where(part["sure"].astype(bool), symbol, f"{symbol}-open").tolist()
    return go.Scatter(
        x=part["x"], y=part["value"], mode="lines+markers", name=visible(name, 40), legendgroup=name, showlegend=legend,
        hovertext=[plotted(each, 160) for each in part["told"]], hoverinfo="text", customdata=part.index.to_numpy()[:, None],
        error_y={"type": "data", "symmetric": False, "thickness": 1, **errors}, line={"color": colour, "width": 2},
        marker={"size": 9, "symbol": filled, "line": {"width": 2, "color": colour}},
    )  # fmt: skip


def _add_band(chart: go.Figure, band: pd.DataFrame, at: tuple[int, int], dark: bool) -> None:
    if band.empty:
        return
    row, column = at
    grey = {"x": band["x"], "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    edge = {"color": look(dark).faint, "width": 6}
    chart.add_trace(go.Scatter(y=band["low"], line=edge, **grey), row=row, col=column)
    chart.add_trace(
        go.Scatter(y=band["high"], fill="tonexty", fillcolor=look(dark).faint, line=edge, **grey),
        row=row,
        col=column,
    )
    chart.add_trace(
        go.Scatter(
            y=band["value"], line={"color": look(dark).soft, "width": 1, "dash": "dot"}, **grey
        ),
        row=row,
        col=column,
    )


def plot_grid(
    values: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    dark: bool,
    texts: np.ndarray | None = None,
    told: np.ndarray | None = None,
    titles: tuple[str, str] = ("", ""),
    signed: bool = False,
    height: int = 0,
) -> go.Figure:
    """Numbers from 0 to 1 (from −1 to 1 if ``signed``) as squares, with what is written in and told of every one."""
    scale = (
        {"colorscale": "RdBu", "reversescale": True, "zmid": 0}
        if signed
        else {"colorscale": list(look(dark).scale)}
    )
    chart = go.Figure(
        go.Heatmap(
            z=values, zmin=-1 if signed else 0, zmax=1, **scale, showscale=signed, xgap=1, ygap=1,
            colorbar={"thickness": 10, "len": 0.6}, customdata=told,
            hovertemplate="%{y}, %{x}: " + ("%{z:.2f}" if told is None else "%{customdata}") + "<extra></extra>",
            x=[plotted(each, 24) for each in columns], y=[plotted(each, 60) for each in rows],
        )
    )  # fmt: skip
    if texts is not None:
        shades = inks(shade(np.nan_to_num(values.ravel()), dark))
        for (row, column), ink in zip(np.ndindex(values.shape), shades, strict=True):
            if texts[row, column]:
                chart.add_annotation(
                    x=column,
                    y=row,
                    text=texts[row, column],
                    showarrow=False,
                    font={"color": ink, "size": 11},
                )
    dress(chart, height or 110 + min(30, max(14, 500 // max(len(rows), 1))) * len(rows), dark)
    chart.update_xaxes(title=titles[1], type="category")
    return chart.update_yaxes(title=titles[0], autorange="reversed", type="category")


def plot_bars(rows: pd.DataFrame, label: str, dark: bool) -> go.Figure:
    """A bar a token: position, token, value."""
    chart = go.Figure(
        go.Bar(
            x=rows["position"], y=rows["value"], marker={"color": colours(6)[-1]}, cliponaxis=False, constraintext="none",
            text=[plotted(each, 6) for each in rows["token"]], textposition="outside", textangle=0,
            hovertext=[plotted(each) for each in rows["token"]], hovertemplate="%{hovertext} at %{x}: %{y:.0%}<extra></extra>",
        )
    )  # fmt: skip
    dress(chart, 280, dark).update_xaxes(title="token", dtick=5)
    return chart.update_yaxes(title=label, tickformat=".0%", rangemode="tozero")


def plot_shares(
    shares: pd.DataFrame,
    names: Sequence[str],
    parts: Sequence[tuple[str, str, str, str]],
    label: str,
    dark: bool,
) -> go.Figure:
    """Stacked bars, one a row: ``parts`` are column, name, color and whether it is hatched."""
    chart = go.Figure()
    for column, name, colour, hatch in parts:
        marker = {
            "color": colour,
            "line": {"color": look(dark).soft, "width": 0.5},
            "pattern": {"shape": "/" if hatch else ""},
        }
        chart.add_bar(
            x=shares[column],
            y=[f"{plotted(each, 80)} " for each in names],
            orientation="h",
            name=name,
            marker=marker,
        )
    dress(chart, 110 + 22 * len(names), dark).update_layout(barmode="stack", bargap=0.3)
    chart.update_xaxes(title=label, range=[0, 1.01], tickformat=".0%")
    chart.update_yaxes(autorange="reversed", type="category")
    return _legend(chart)
