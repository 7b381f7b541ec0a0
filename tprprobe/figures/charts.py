"""Charts for a screen: dots with intervals, lines in panels, squares. Everything in them comes from a scene."""

from textwrap import wrap
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from plotly.subplots import make_subplots

from tprprobe.figures.colors import PALER, group_colors, palette, text_color
from tprprobe.figures.line_styles import DASHES, INK, LEVELS, RING, SYMBOLS, style_lines
from tprprobe.figures.maps import GREY, Points, find_colors
from tprprobe.figures.scenes import HATCHED, Dots, Grid, Lines, Scene, Shares, Squares
from tprprobe.figures.style import Options
from tprprobe.figures.theme import FONT, MONO, find_theme, write_colors
from tprprobe.store.token_texts import LONGEST, visible

TITLE_WIDTH = 54  # characters of the titles of panels in a line, together
PANEL = 190  # pixels of a panel's height
MAX_TICKS, MAX_NAMES = 8, 40  # layers, and columns of squares, that are named


def is_plotted(scene: object) -> TypeGuard[Scene]:
    """Whether there is a chart of a scene; of several pictures where all are vectors in the plane."""
    if isinstance(scene, Grid):
        return all(isinstance(picture, Points) for picture in scene.pictures)
    return type(scene) in CHARTS


def plot(scene: Scene | None, dark: bool) -> go.Figure:
    """The chart of a scene, without a frame, transparent."""
    chart, height = CHARTS[type(scene)](scene, dark)
    theme = find_theme(dark)
    axis = {"zeroline": False, "color": theme.soft, "automargin": True}
    titles = [note.text.count("<br>") + 1 for note in chart.layout.annotations if note.text]
    top = 8 + 14 * max(titles) if isinstance(scene, Lines | Shares | Grid) else 8
    chart.update_layout(
        height=height, paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", dragmode="zoom",
        font={"family": FONT, "size": 13, "color": theme.ink}, margin={"l": 8, "r": 8, "b": 8, "t": top},
        hoverlabel={"font": {"family": MONO, "size": 13}, "align": "left"},
        legend={"orientation": "h", "y": -85 / (height - 110), "yanchor": "top", "traceorder": "normal"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": theme.soft, "activecolor": theme.ink},
    )  # fmt: skip
    chart.update_xaxes(gridcolor=theme.faint, **axis)
    return chart.update_yaxes(gridcolor=theme.faint, **axis)


def _plot_dots(dots: Dots, dark: bool) -> tuple[go.Figure, int]:
    rows = dots.rows
    n_digits = int(rows["high"].max() - rows["low"].min() < 0.05)  # of percent
    form, fine = (".2f", ".3f") if not dots.percent else (f".{n_digits}%", ".1%")
    hints = [
        f"{name}: {value:{fine}} [{low:{fine}}, {high:{fine}}]"
        for name, value, low, high in rows[["name", "value", "low", "high"]].to_numpy()
    ]
    rows = rows.assign(told=hints, sure=True, at=[plotted(name, 60) for name in rows["name"]])
    styles = style_lines(rows.assign(line=dots.lines))
    look = {"mode": "markers", "orientation": "h"}
    chart = go.Figure(
        [
            _points(points, "at", str(group), styles[str(group)], dark, **look)
            for group, points in rows.groupby("group", sort=False)
        ]
    )
    chart.update_layout(showlegend=True)
    chart.update_xaxes(_room(rows), title=dots.label, tickformat=form)
    chart.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return chart, 140 + 24 * rows["name"].nunique()


def _plot_shares(shares: Shares, dark: bool) -> tuple[go.Figure, int]:
    """Bars of parts side by side; the last part, which is left, is gray."""
    panels, names = shares.rows["panel"].unique().tolist(), shares.rows["name"].unique().tolist()
    steps = shares.rows["part"].unique().tolist()
    colors = [*write_colors(palette(len(steps) - 1)), find_theme(dark).faint]
    titles = [plotted(panel, TITLE_WIDTH) for panel in panels]
    chart = make_subplots(len(panels), 1, subplot_titles=titles, vertical_spacing=0.2)
    rows = shares.rows if "sure" in shares.rows else shares.rows.assign(sure=True)
    rows = rows.assign(width=rows["value"].clip(lower=0).fillna(0), label=rows["name"].map(plotted))
    rows["end"] = rows.groupby(["panel", "name"])["width"].cumsum()
    rows["told"] = rows["label"] + ", " + rows["part"] + rows["value"].map(": {:.1%}".format)
    is_unsure = ~rows["sure"].astype(bool) & (rows["part"] != steps[-1]) & (rows["width"] > 0)
    rows["pattern"] = np.where(is_unsure, "/", "")
    rows["told"] += np.where(is_unsure, ", not shown to be there", "")
    has_bars = rows.groupby("part")["width"].any().to_dict()
    for (panel, step), bars in rows.groupby(["panel", "part"], sort=False):
        bar = go.Bar(
            x=bars["width"], y=bars["label"], orientation="h", name=str(step), legendgroup=str(step),
            marker_color=colors[steps.index(step)], marker_pattern_shape=bars["pattern"],
            showlegend=panel == panels[0] and has_bars[step], hovertext=bars["told"], hoverinfo="text",
        )  # fmt: skip
        chart.add_trace(bar, row=panels.index(panel) + 1, col=1)
    for panel, bars in rows[rows["sure"].astype(bool)].groupby("panel") if "low" in rows else ():
        errors = {"type": "data", "symmetric": False, "thickness": 1, "color": find_theme(dark).ink}
        errors |= {"array": bars["high"] - bars["value"], "arrayminus": bars["value"] - bars["low"]}
        look = {"mode": "markers", "marker_opacity": 0, "hoverinfo": "skip", "showlegend": False}
        intervals = go.Scatter(x=bars["end"], y=bars["label"], error_x=errors, **look)  # above bars
        chart.add_trace(intervals, row=panels.index(panel) + 1, col=1)
    if is_unsure.any():
        look = {"name": HATCHED, "marker_color": find_theme(dark).soft, "marker_pattern_shape": "/"}
        chart.add_trace(go.Bar(x=[None], y=rows["label"][:1], orientation="h", **look), 1, 1)
    is_lacking = rows["value"].isna().groupby([rows["panel"], rows["label"]]).all()
    for panel, label in is_lacking.index[is_lacking]:
        look = {"text": "not settled", "showarrow": False, "xanchor": "left"}
        chart.add_annotation(x=0, y=label, row=panels.index(panel) + 1, col=1, **look)
    ends = [0, shares.find_end()]
    chart.update_layout(barmode="stack").update_xaxes(tickformat=".0%", range=ends, dtick=0.2)
    chart.update_xaxes(title=shares.label, row=len(panels))
    chart.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return chart, 120 + len(panels) * (60 + 28 * len(names))


def _plot_lines(lines: Lines, dark: bool) -> tuple[go.Figure, int]:
    """Panels side by side: a line with intervals per name, over the band of the strongest control."""
    panels = lines.panels
    across = min(lines.across, len(panels))
    down = -(-len(panels) // across)
    titles = [_title(name, TITLE_WIDTH // across) for name in panels]
    below = 60 + 14 * max(title.count("<br>") for title in titles)  # ticks, title of the next panel
    chart = make_subplots(
        down, across, subplot_titles=titles, horizontal_spacing=0.33 / across,
        vertical_spacing=below / (PANEL + below) / down,
    )  # fmt: skip
    styles = style_lines(lines.rows)
    legended: set[str] = set()
    for i, panel in enumerate(panels):
        cell: dict[str, Any] = {"row": i // across + 1, "col": i % across + 1}
        bands = lines.named_bands
        for line, band in bands[bands["panel"] == panel].groupby("line", sort=False):
            traces = _band(band, dark, str(line), str(line) not in legended)
            legended.add(str(line))
            chart.add_traces(traces, rows=cell["row"], cols=cell["col"])
        of_panel = lines.rows[lines.rows["panel"] == panel]
        for line, points in of_panel.groupby("line", sort=False):
            name, style = str(line), styles[str(line)]
            trace = _points(points, "x", name, style, dark, showlegend=name not in legended)
            legended.add(name)
            trace.update(line_dash=DASHES.get(style["linestyle"]))
            chart.add_trace(trace, **cell)
        for name, marks, size in _list_marks(lines, of_panel):
            marker = {"symbol": "circle-open", "size": size, "color": find_theme(dark).soft}
            chart.add_scatter(
                x=marks["x"], y=marks["value"], mode="markers", marker=marker, name=name, legendgroup=name,
                showlegend=name not in legended, hoverinfo="skip", **cell,
            )  # fmt: skip
            legended.add(name)
        low, high = of_panel["x"].min(), of_panel["x"].max()
        shift = 0.3 * (low == high)  # as wide as a mark
        for level in lines.levels[lines.levels["panel"] == panel].to_dict("records"):
            name, dash = str(level["line"]), DASHES[LEVELS.get(level["line"], ":")]
            chart.add_scatter(
                x=[low - shift, high + shift], y=[level["value"]] * 2, mode="lines", name=name, legendgroup=name, showlegend=name not in legended,
                line={"color": find_theme(dark).soft, "width": 1, "dash": dash}, hoverinfo="name+y", **cell,
            )  # fmt: skip
            legended.add(name)
        tick_format = ".0%" if lines.is_percent(panel) else None
        chart.update_yaxes(_room(of_panel), tickformat=tick_format, **cell)
    chart.update_annotations(font={"size": 12}).update_layout(showlegend=len(legended) > 1)
    chart.update_yaxes(title={"text": lines.label, "standoff": 16}, col=1)
    chart.update_xaxes(title=lines.x, row=down).update_xaxes(showgrid=False)
    if lines.log:
        ticks = sorted(lines.rows["x"].unique())
        chart.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{x:g}" for x in ticks])
    if lines.x == "layer":  # whole numbers
        layers = sorted(names := lines.ticks)
        low, high, ticks = layers[0], layers[-1], layers[:: -(-len(layers) // MAX_TICKS)]
        chart.update_xaxes(
            tickvals=ticks, ticktext=[names[x] for x in ticks], range=[low - 0.6, high + 0.6]
        )
    return chart, 150 + (PANEL + below) * down


def _list_marks(lines: Lines, rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame, int]]:
    """Names, places and sizes of the rings, and what hollow marks mean."""
    best = rows[rows["best"].eq(True)] if "best" in rows else rows[:0]
    rings = [(RING, best, 18)] if len(best) else []
    is_hollow = lines.hollow and not rows["sure"].all()
    empty = pd.DataFrame({"x": [None], "value": [None]})
    return rings + [(lines.hollow, empty, 9)] * bool(is_hollow)


def _room(rows: pd.DataFrame) -> dict[str, list[float]]:
    """A range for values that are all the same, beside which an axis would go from −1 to 1."""
    if rows["value"].max() - rows["value"].min() >= 0.01:
        return {}
    ends = rows[["value", "low", "high"]].to_numpy(float)
    return {"range": [float(np.nanmin(ends)) - 0.05, float(np.nanmax(ends)) + 0.05]}


def _title(panel: str, width: int) -> str:
    """In lines that are narrow enough for panels side by side on a telephone."""
    lines = (plotted(line, 80) for line in panel.split("\n"))
    return "<br>".join(row for line in lines for row in wrap(line, width))


def _points(
    points: pd.DataFrame, place: str, name: str, style: Options, dark: bool, **options: str | bool
) -> go.Scatter:
    """Values with intervals, upright unless their orientation is h; custom data are the rows of the table."""
    symbol, is_ink = SYMBOLS[style["marker"]], style["color"] == INK
    color = find_theme(dark).ink if is_ink else write_colors([to_rgb(style["color"])])[0]
    high, low = points["high"] - points["value"], points["value"] - points["low"]
    errors = {"type": "data", "symmetric": False, "thickness": 1, "array": high, "arrayminus": low}
    x, y, error = ("value", place, "x") if "orientation" in options else (place, "value", "y")
    hints = points["told"] if "told" in points else points["value"].map("{:.3g}".format)
    return go.Scatter(
        x=points[x], y=points[y], name=visible(name, 60), legendgroup=name, customdata=points.index.to_numpy()[:, None],
        hovertext=[plotted(hint, 160) for hint in hints], hoverinfo="text", line={"color": color, "width": 2},
        marker={"size": 9, "line": {"width": 2, "color": color}, "symbol": np.where(points["sure"].astype(bool), symbol, f"{symbol}-open").tolist()},
        **{f"error_{error}": errors}, **({"mode": "lines+markers"} | options),
    )  # fmt: skip


def _band(band: pd.DataFrame, dark: bool, name: str, is_new: bool) -> list[go.Scatter]:
    if len(band) == 1:  # as wide as a mark
        band = pd.concat([band.assign(x=band["x"] + shift) for shift in (-0.3, 0.3)])
    theme = find_theme(dark)
    grey = {"x": band["x"], "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    edge = {"width": 0}  # the area ends at its numbers
    middle = {"color": theme.soft, "width": 1}
    curves = [("low", None, edge), ("high", "tonexty", edge), ("value", None, middle)]
    traces = [
        go.Scatter(y=band[y], fill=fill, fillcolor=theme.faint, line=line, **grey)
        for y, fill, line in curves
    ]
    hints = band["value"].map(f"{plotted(name)}: {{:.3g}}".format)
    traces[-1].update(name=name, legendgroup=name, showlegend=is_new)
    traces[-1].update(hovertext=hints, hoverinfo="text")
    return traces


def _plot_squares(squares: Squares, dark: bool) -> tuple[go.Figure, int]:
    """Squares; those of every group on a scale of its own, which the legend names."""
    theme, values, groups = find_theme(dark), np.asarray(squares.values, float), squares.groups
    end = 1 if squares.signed or not squares.bar else float(np.nanmax(values, initial=1e-9))
    columns = [plotted(name, 24) for name in squares.columns]
    rows = [plotted(name, 60) for name in squares.rows]
    told = np.char.mod("%.2f", values) if squares.told is None else squares.told
    names = np.array(rows, object)[:, None] + ", " + np.array(columns, object)
    y_ticks, x_ticks = ([*range(n)] for n in values.shape)  # equal names have places of their own
    texts = np.full(values.shape, "") if squares.texts is None else squares.texts
    layers = [("", np.full(values.shape, True), theme.scale)]
    if groups is not None:
        colors = group_colors(squares.order, squares.gray)
        scales = [(theme.page, to_hex(hue)) for hue in colors]
        layers = [
            (name, groups == name, scale)
            for name, scale in zip(squares.order, scales, strict=True)
            if (groups == name).any()
        ]
    chart = go.Figure()
    for name, is_here, scale in layers:
        chart.add_heatmap(
            z=np.where(is_here, values, np.nan), zmin=-1 if squares.signed else 0, zmax=end, colorscale="RdBu_r" if squares.signed else list(scale),
            showscale=squares.signed and bool(squares.bar), xgap=1, ygap=1, colorbar={"thickness": 10, "len": 0.6},
            text=names + ": " + np.asarray(told, object), hoverongaps=groups is None, name=name, showlegend=bool(name),
            hovertemplate="%{text}<extra></extra>", x=x_ticks, y=y_ticks,
        )  # fmt: skip
        ramp = find_theme(False).scale if squares.signed else scale  # signed: dark at both ends
        written = np.nonzero((texts != "") & is_here)
        weights = np.abs(np.nan_to_num(values[written])) / end
        backs = LinearSegmentedColormap.from_list("squares", ramp)(weights).tolist()
        for y, x, back in zip(*written, backs, strict=True):
            look = {"showarrow": False, "font": {"color": text_color(back), "size": 11}}
            chart.add_annotation(x=x, y=y, text=texts[y, x], **look)
    if squares.within is not None:
        pale = np.where(squares.within, 1, np.nan)
        look = {"colorscale": [theme.page] * 2, "showscale": False, "hoverinfo": "skip"}
        look |= {"opacity": PALER}
        chart.add_heatmap(z=pale, x=x_ticks, y=y_ticks, xgap=1, ygap=1, **look)
    step = -(-len(columns) // MAX_NAMES)
    chart.update_xaxes(tickvals=x_ticks[::step], ticktext=columns[::step], showgrid=False)
    chart.update_xaxes(title=squares.titles[1])
    chart.update_yaxes(tickvals=y_ticks, ticktext=rows, title=squares.titles[0], showgrid=False)
    chart.update_yaxes(autorange="reversed")
    return chart, 110 + min(30, max(14, 500 // max(len(rows), 1))) * len(rows)


def _plot_maps(grid: Grid, dark: bool) -> tuple[go.Figure, int]:
    """Vectors in the plane, a panel each below the other, with what is known of a point for the pointer."""
    scenes: list[Any] = list(grid.pictures)
    titles = [_title(scene.title, TITLE_WIDTH) for scene in scenes]
    chart = make_subplots(len(scenes), 1, subplot_titles=titles, vertical_spacing=0.15)
    for row, scene in enumerate(scenes, 1):
        texts = scene.tabulate().drop(columns=["x", "y"]).map(plotted)
        hints, values = texts.agg(", ".join, axis=1), np.asarray(scene.values, object)
        colors = find_colors(scene)
        for name in scene.order:
            x, y = scene.points[values == name].T
            chart.add_scattergl(
                x=x, y=y, mode="markers", name=plotted(name), legendgroup=name, showlegend=row == 1,
                marker={"size": 5, "color": write_colors([colors.get(name, GREY)])[0]},
                hovertext=hints[values == name], hoverinfo="text", row=row, col=1,
            )  # fmt: skip
        chart.update_xaxes(title=scene.axes[0], showticklabels=False, row=row)
        chart.update_yaxes(title=scene.axes[1], showticklabels=False, row=row)
    return chart, 110 + 400 * len(scenes)


def plotted(text: object, longest: int = LONGEST) -> str:
    """The text for a chart, which interprets tags and entities in its texts."""
    plain = visible(text, longest)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


CHARTS = {Dots: _plot_dots, Shares: _plot_shares, Lines: _plot_lines, Squares: _plot_squares}
CHARTS |= {Grid: _plot_maps}
