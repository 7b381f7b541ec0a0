"""Probes as small multiples: a panel per kind of vector, its score by layer beside its best control."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tprprobe.dashboard.safe_text import plotted
from tprprobe.dashboard.theme import colours, dress, look
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.probes import probe_table, strongest_control

SCORES = {"f1": "F1", "accuracy": "accuracy"}
ACROSS = 4  # panels in a row
SYMBOLS = ("square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star", "hexagon")
SIGNS = "filled: beyond every control (paired, Holm); grey: the best control with its 95 % interval"


@dataclass(frozen=True)
class _Panels:
    """The panels of a chart: its rows, what they show, and the looks."""

    rows: pd.DataFrame
    score: str
    every: bool
    dark: bool


def show_probes(
    rows: pd.DataFrame,
    task: str,
    dark: bool = False,
    score: str = "f1",
    models: Sequence[str] | None = None,
    every: bool = False,
) -> View:
    """The score of a task by layer: a panel per vector (and model), its best control as a grey band.

    ``models`` are shown side by side (default: the first), ``every`` adds a line per control. The points' custom
    data are the row in the view's data that they stand for.

    Raises:
        InputError: no such task, model or score.
    """
    if score not in SCORES:
        raise unknown("score", score, SCORES)
    whole = rows[(rows["task"] == task) & rows["head"].isna()]
    if whole.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    shown = list(models or whole["model"].unique()[:1])
    chosen = whole[whole["model"].isin(shown)].reset_index(drop=True)
    if chosen.empty:
        raise unknown("model", shown[0], whole["model"].unique().tolist())
    real = chosen[(chosen["control"] == "real") & chosen["layer"].notna()]
    kinds = real["site"].map(name_vectors)
    keys = [(kind, model) for kind in kinds.unique() for model in shown]
    across = min(len(shown) if len(shown) > 1 else ACROSS, len(keys)) or 1
    down = -(-len(keys) // across)
    titles = [_title(kind, model if len(shown) > 1 else "") for kind, model in keys]
    chart = make_subplots(
        down, across, subplot_titles=titles, shared_yaxes=True, shared_xaxes=False,
        horizontal_spacing=0.03, vertical_spacing=min(0.3, 0.42 / down),
    )  # fmt: skip
    panels = _Panels(chosen, score, every, dark)
    for number, (kind, model) in enumerate(keys):
        line = real[(kinds == kind) & (real["model"] == model)].sort_values("layer")
        row, column = divmod(number, across)
        for trace in _traces(panels, line):
            chart.add_trace(trace, row + 1, column + 1)
    chart.update_annotations(font={"size": 12})
    dress(chart, 110 + 200 * down, dark, "zoom")
    chart.update_layout(margin={"t": 48}, showlegend=every, legend={"font": {"size": 11}})
    chart.update_yaxes(range=[0, 1.02], tickformat=".0%", showgrid=True, gridcolor=look(dark).faint)
    chart.update_yaxes(title=SCORES[score], col=1)
    chart.update_xaxes(dtick=1, showticklabels=True)
    chart.update_xaxes(title="layer", row=down)
    title = f"{SCORES[score]} of {task} by layer, held out, 95 % intervals"
    drawn = rows[(rows["task"] == task) & rows["model"].isin(shown)]
    return View(title, chart, partial(_draw, drawn), chosen, SIGNS)


def _title(kind: str, model: str) -> str:
    """The stack over the rest: narrow enough for four panels on a telephone."""
    first, _, rest = plotted(kind, 60).partition(" ")
    return "<br>".join(filter(None, (first, rest, plotted(model, 40) if model else "")))


def _draw(rows: pd.DataFrame):
    return probe_table(rows).draw()


def name_vectors(site: str) -> str:
    """A site without its layer, in words: ``encoder self role``."""
    return " ".join(part for part in str(site).split(".") if not part.isdigit())


def _traces(panels: _Panels, line: pd.DataFrame) -> list[go.Scatter]:
    score, rows, colour = panels.score, panels.rows, colours(6)[-1]
    beside = [strongest_control(rows, row, score) for _, row in line.iterrows()]
    hover = [
        f"{plotted(row['site'], 60)}: {100 * row[score]:.1f} %<br>best control: {control} {100 * rival.value:.1f} %"
        f"<br>learnt from {row['n_train']:,} targets"
        for (_, row), (control, rival) in zip(line.iterrows(), beside, strict=True)
    ]
    low, high = [rival.low for _, rival in beside], [rival.high for _, rival in beside]
    grey = {"x": line["layer"], "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    band = look(panels.dark).faint
    errors = {
        "array": line[f"{score}_high"] - line[score],
        "arrayminus": line[score] - line[f"{score}_low"],
    }
    beyond = (line["beyond"] == True).to_numpy()  # noqa: E712
    own = go.Scatter(
        x=line["layer"], y=line[score], mode="lines+markers", showlegend=False, hovertext=hover,
        hoverinfo="text", customdata=line.index.to_numpy()[:, None],
        error_y={"type": "data", "symmetric": False, "thickness": 1, **errors},
        line={"color": colour, "width": 2},
        marker={
            "size": 10, "symbol": np.where(beyond, "circle", "circle-open").tolist(),
            "line": {"width": 2, "color": colour},
        },
    )  # fmt: skip
    dots = go.Scatter(
        x=line["layer"], y=[rival.value for _, rival in beside], mode="lines+markers", hoverinfo="skip", showlegend=False,
        line={"color": look(panels.dark).soft, "width": 1, "dash": "dot"}, marker={"size": 4},
    )  # fmt: skip
    edges = {"line": {"color": band, "width": 6}}
    below = go.Scatter(y=low, **grey, **edges)
    above = go.Scatter(y=high, fill="tonexty", fillcolor=band, **grey, **edges)
    return [below, above, *(_controls(panels, line) if panels.every else []), dots, own]


def _controls(panels: _Panels, line: pd.DataFrame) -> list[go.Scatter]:
    """A thin line per control of these sites, those without a site (rules) level through all layers."""
    names = [each for each in panels.rows["control"].unique() if each != "real"]
    found = []
    for number, (name, colour) in enumerate(zip(names, colours(len(names)), strict=True)):
        same = panels.rows[panels.rows["control"] == name]
        at_site = same[same["site"].isin(line["site"])].sort_values("layer")
        if at_site.empty:
            rule = same[
                same["side"].isin(line["side"])
                & ~same["site"].isin(panels.rows["site"][panels.rows["layer"].notna()])
            ]
            at_site = line[["layer"]].assign(**{panels.score: rule[panels.score].mean()})
        found.append(
            go.Scatter(
                x=at_site["layer"], y=at_site[panels.score], mode="lines+markers", name=name,
                legendgroup=name, hovertemplate=f"{name}: %{{y:.1%}}<extra></extra>",
                showlegend=False, line={"color": colour, "width": 1},
                marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 5},
            )
        )  # fmt: skip
    return found
