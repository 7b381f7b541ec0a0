"""Finished interventions: heads replaced, vectors snapped, vectors of two numbers exchanged."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tprprobe.dashboard.findings import show_dots
from tprprobe.dashboard.safe_text import plotted
from tprprobe.dashboard.theme import colours, css, dress, inks, look, shade
from tprprobe.dashboard.view import View
from tprprobe.figures.ablation import ablation_map, at_full_strength
from tprprobe.figures.catalogue.interventions import load_swaps, load_sweeps
from tprprobe.figures.snap import snap_curve
from tprprobe.figures.swap import PARTS, TITLES, list_ways, swap_shares, tell_way
from tprprobe.interventions.kinds import SWAPS, SWEEPS

ALL = "all"  # points of a sweep that are no single head and no number of centres
SNAP = "snap"
CLEAR = "rgba(0,0,0,0)"


def read_interventions(folder: Path) -> dict[str, pd.DataFrame]:
    """The charts that a finished run offers, by name: the edits of single heads, ``snap``, ``all``
    other edits, or the kinds of exchange.

    Raises:
        InputError: the folder holds no finished run.
    """
    if SWAPS.is_in(folder) and not SWEEPS.is_in(folder):
        rows = load_swaps([folder])
        return {str(kind): rows[rows["kind"] == kind] for kind in rows["kind"].unique()}
    rows = load_sweeps([folder])
    single = at_full_strength(rows[rows["head"] >= 0])
    found = {str(edit): single[single["edit"] == edit] for edit in single["edit"].unique()}
    others = rows[(rows["head"] < 0) & (rows["edit"] != SNAP)]
    if SNAP not in found and (rows["edit"] == SNAP).any():
        found[SNAP] = rows
        others = others[others["edit"] != "mean"]  # the curve begins with it
    return found | ({ALL: others} if len(others) > 1 else {})


def show_interventions(rows: pd.DataFrame, name: str, dark: bool = False) -> View:
    """One of :func:`read_interventions` as a chart."""
    if "counterfactual" in rows:
        return _show_swaps(rows, name, dark)
    if name == ALL:
        return _show_edits(rows, dark)
    return _show_snap(rows, dark) if (rows["head"] < 0).any() else _show_heads(rows, name, dark)


def _show_heads(rows: pd.DataFrame, edit: str, dark: bool) -> View:
    """A row per site, a column per head: the change of exact match, in points."""
    sites, heads = list(rows["site"].unique()), sorted(rows["head"].unique().tolist())
    wide = {
        name: 100
        * rows.pivot_table(index="site", columns="head", values=name)
        .reindex(sites, columns=heads)
        .to_numpy(float)
        for name in ("change", "change_low", "change_high")
    }
    depth = np.nan_to_num(np.clip(-wide["change"], 0, None))
    depth = depth / max(1.0, depth.max())
    chart = go.Figure(
        go.Heatmap(
            z=depth,
            zmin=0,
            zmax=1,
            x=[str(head) for head in heads],
            y=[plotted(site, 60) for site in sites],
            customdata=np.stack(list(wide.values()), axis=-1),
            colorscale=list(look(dark).scale),
            showscale=False,
            xgap=2,
            ygap=2,
            hovertemplate="%{y}, head %{x}<br>%{customdata[0]:+.1f} points"
            " [%{customdata[1]:+.1f}, %{customdata[2]:+.1f}]<extra></extra>",
        )
    )
    texts = inks(shade(depth.ravel(), dark))
    for (at, value), ink in zip(np.ndenumerate(wide["change"]), texts, strict=True):
        if np.isfinite(value):
            sure = not wide["change_low"][at] <= 0 <= wide["change_high"][at]
            text = f"{value:+.0f}" if abs(value) >= 0.5 else "0"
            chart.add_annotation(
                x=str(heads[at[1]]), y=plotted(sites[at[0]], 60), showarrow=False,
                text=text if sure else f"({text})", font={"color": ink},
            )  # fmt: skip
    dress(chart, 110 + 30 * len(sites), dark, "zoom")
    chart.update_xaxes(title="head", type="category")
    chart.update_yaxes(autorange="reversed", type="category")
    title = f"Change of exact match, in points, when one head's vectors are replaced ({edit})"
    strength = rows["strength"].iloc[0]
    title += "" if strength == 1.0 else f" × {strength:g}"
    note = f"{int(rows['n'].max())} examples; in brackets: the 95 % interval includes 0."
    return View(title, chart, partial(ablation_map, rows), rows, note)


def _show_snap(rows: pd.DataFrame, dark: bool) -> View:
    """Exact match against the number of centers; 1 is the mean, the dotted line as trained."""
    points = at_full_strength(rows[rows["edit"].isin([SNAP, "mean"])])
    points = points.assign(k=points["k"].where(points["edit"] == SNAP, 1)).sort_values("k")
    values = points["exact_match"]
    errors = {
        "array": points["exact_match_high"] - values,
        "arrayminus": values - points["exact_match_low"],
    }
    chart = go.Figure(
        go.Scatter(
            x=points["k"],
            y=values,
            mode="lines+markers",
            error_y={"type": "data", "symmetric": False, "thickness": 1, **errors},
            line={"color": colours(2)[-1]},
        )
    )
    alone = float(rows.loc[rows["edit"] == "none", "exact_match"].iloc[0])
    ink = look(dark).soft
    chart.add_hline(
        alone, line={"dash": "dot", "width": 1, "color": ink},
        annotation={"text": "as trained", "font": {"color": ink}}, annotation_position="top left",
    )  # fmt: skip
    dress(chart, 360, dark, "zoom")
    ticks = points["k"].unique().tolist()
    chart.update_xaxes(title="centres a head (1: the mean)", type="log", tickvals=ticks)
    chart.update_yaxes(title="exact match", range=[0, 1.02], tickformat=".0%", showgrid=True)
    chart.update_yaxes(gridcolor=look(dark).faint)
    title = "Vectors snapped to the nearest of k centres, 95 % intervals"
    return View(title, chart, partial(snap_curve, rows), points)


def _show_edits(rows: pd.DataFrame, dark: bool) -> View:
    """Exact match of every edit of whole sites, with its interval."""
    is_whole = rows["strength"].eq(1) | rows["edit"].eq("none")
    dots = pd.DataFrame(
        {
            "name": rows["edit"].mask(
                ~is_whole, rows["edit"] + " × " + rows["strength"].astype(str)
            ),
            "group": rows["site"].where(rows["edit"] != "none", "as trained"),
            "value": rows["exact_match"],
            "low": rows["exact_match_low"],
            "high": rows["exact_match_high"],
        }
    )
    return show_dots(dots, "Exact match when whole sites are edited", "exact match", dark)


def _show_swaps(rows: pd.DataFrame, kind: str, dark: bool) -> View:
    """A bar per way of exchanging: the shares of the predicted, another and the old answer."""
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1)]
    ways = list_ways(chosen)
    found = chosen.set_index(["model", "vectors", "layer", "at"])
    found = found.reindex(pd.MultiIndex.from_tuples(ways))
    chart = go.Figure()
    models = {way[0] for way in ways}
    whole = {way: tell_way(*way) for way in ways}
    short = {
        way: told.removeprefix(f"{way[0]}: ") if len(models) == 1 else told
        for way, told in whole.items()
    }
    names = [f"{plotted(each, 80)} " for each in short.values()]
    for column, name, colour, hatch in PARTS:
        chart.add_bar(
            x=found[column], y=names, orientation="h", name=name,
            marker={
                "color": CLEAR if column == "original" else css(colour),
                "line": {"color": look(dark).soft, "width": 0.5},
                "pattern": {"shape": "/" if hatch else ""},
            },
        )  # fmt: skip
    dress(chart, 110 + 22 * len(ways), dark, "zoom")
    chart.update_layout(
        barmode="stack", bargap=0.3, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )  # fmt: skip
    chart.update_xaxes(title="share of answers", range=[0, 1.01], tickformat=".0%")
    chart.update_yaxes(autorange="reversed", type="category")
    n = int(found["n"].max()) if len(found) else 0
    note = f"{n} exchanges whose two questions the model answers; whole layers, all heads."
    title = f"Answers after an exchange: {TITLES.get(kind, kind)}".replace("\n", " ")
    return View(title, chart, partial(swap_shares, rows, [kind]), chosen, note)
