"""Finished results: probes, what clusters tell, reconstruction; values with intervals and controls."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.word_names import count_names
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.naming import polarity_table, words_table
from tprprobe.figures.probes import table4
from tprprobe.figures.reconstruction import HELD_OUT, reconstruction_curves
from tprprobe.files.kinds import KINDS
from tprprobe.store import Store
from tprprobe.views.safe_text import plotted, visible
from tprprobe.views.theme import colours, dress, look
from tprprobe.views.view import View

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot")
PREDICTORS = {
    "heads": "one head (mean)",
    "random": "random projections",
    "pca": "PCA",
    "mean": "mean of z",
    "all heads": "all heads",
}


def read_probes(folders: dict[str, Path]) -> pd.DataFrame:
    """The rows of finished probes."""
    return load_probes(folders.values())


def show_probes(rows: pd.DataFrame, task: str, dark: bool = False) -> View:
    """F1 of a task by layer: a line per model and vector with its interval, controls dashed.

    Raises:
        InputError: no such task.
    """
    chosen = rows[(rows["task"] == task) & rows["head"].isna()]
    if chosen.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    chosen = chosen.assign(
        vectors=chosen["site"].astype(str).str.replace(r"\.\d+\.", " ", regex=True)
    )
    keys = ["model", "vectors", "control", "layer"]
    means = chosen.groupby(keys, dropna=False, sort=False)[["f1", "f1_low", "f1_high"]].mean()
    chart = go.Figure()
    lines = means.reset_index().groupby(["model", "vectors"], dropna=False, sort=False)
    for (pair, part), colour in zip(lines, colours(lines.ngroups), strict=True):
        name = " · ".join(plotted(each, 40) for each in pair if isinstance(each, str))
        for number, (control, line) in enumerate(part.groupby("control", sort=False)):
            chart.add_trace(_line(line, f"{name} · {control}", colour, number))
    chart.update_yaxes(title="F1", range=[0, 1.02], tickformat=".0%", showgrid=True)
    chart.update_yaxes(gridcolor=look(dark).faint)
    chart.update_xaxes(title="layer", dtick=1)
    dress(chart, 480, dark, "zoom")
    chart.update_yaxes(showgrid=True)
    chart.update_layout(showlegend=True, legend={"font": {"size": 11}})
    draw = partial(_draw_probes, rows[rows["task"] == task])
    return View(f"Probes of {task}, held out, 95 % intervals", chart, draw, means.reset_index())


def _draw_probes(rows: pd.DataFrame):
    return table4(rows).draw()


def _line(line: pd.DataFrame, name: str, colour: str, number: int) -> go.Scatter:
    errors = {"array": line["f1_high"] - line["f1"], "arrayminus": line["f1"] - line["f1_low"]}
    return go.Scatter(
        x=line["layer"],
        y=line["f1"],
        name=name,
        mode="lines+markers",
        error_y={"type": "data", "symmetric": False, "thickness": 1, **errors},
        line={
            "color": colour,
            "dash": DASHES[number % len(DASHES)],
            "width": 2 if not number else 1,
        },
        marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8 if not number else 5},
    )


def show_decoding(folder: Path, subset: str = "all", dark: bool = False) -> View:
    """The accuracy of clusters alone on numerators and denominators, held out, beside every
    control.
    """
    naming = load_names(folder)
    rows = naming.decoding[naming.decoding["subset"] == subset]
    if rows.empty:
        raise InputError(f"no digits of {subset!r} in {folder}: give another subset")
    own = rows[rows["predictor"] == "clusters"]
    heads = own["head"].map(lambda head: "" if pd.isna(head) else f", head {head}")
    dots = pd.DataFrame(
        {
            "name": own["vectors"] + heads,
            "group": own["model"],
            "value": own["accuracy"],
            "low": own["accuracy_low"],
            "high": own["accuracy_high"],
        }
    )
    rules = rows[rows["predictor"] != "clusters"].drop_duplicates("predictor")
    lines = pd.DataFrame({"name": "rule: " + rules["predictor"], "group": "rule"})
    for name, column in (("value", "accuracy"), ("low", "accuracy_low"), ("high", "accuracy_high")):
        lines[name] = rules[column]
    table = pd.concat([dots, lines], ignore_index=True)
    n = int(rows["n"].max())
    title = f"Numerator or denominator, told by clusters alone ({subset}, {n} digits, held out)"
    return replace(show_dots(table, title, "accuracy", dark), note=polarity_table(naming).caption)


def show_word_names(folder: Path, dark: bool = False) -> View:
    """The share of words in clusters that have a name, head by head, beside the untrained twin."""
    named = load_word_names(folder)
    counts = count_names(named)
    heads = counts["head"].map(lambda head: "" if pd.isna(head) else f", head {head}")
    rows = pd.DataFrame({"name": counts["site"] + heads, "group": counts["model"]})
    rows = rows.assign(value=counts["tokens"], low=counts["tokens"], high=counts["tokens"])
    title = "Words in clusters that exact labels name"
    return replace(show_dots(rows, title, "share of words", dark), note=words_table(named).caption)


def tabulate_word_names(folder: Path) -> pd.DataFrame:
    """The named clusters of words of a run, with their precision and recall."""
    return words_table(load_word_names(folder)).cells


def show_dots(rows: pd.DataFrame, title: str, label: str, dark: bool = False) -> View:
    """Values with intervals: a line per name, a color and symbol per group."""
    chart = go.Figure()
    groups = rows["group"].unique().tolist()
    for number, (group, colour) in enumerate(zip(groups, colours(len(groups)), strict=True)):
        part = rows[rows["group"] == group]
        errors = {"array": part["high"] - part["value"], "arrayminus": part["value"] - part["low"]}
        chart.add_trace(
            go.Scatter(
                x=part["value"],
                y=[plotted(each, 60) for each in part["name"]],
                mode="markers",
                name=visible(group, 40),
                error_x={"type": "data", "symmetric": False, **errors},
                marker={"color": colour, "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9},
            )
        )
    height = 120 + 24 * rows["name"].nunique()
    dress(chart, height, dark, "zoom")
    chart.update_xaxes(title=label, showgrid=True, gridcolor=look(dark).faint)
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    )
    return View(title, chart, partial(interval_dots, rows, title, label), rows)


def read_reconstruction(store: Store, folders: dict[str, Path], seed: int = 0) -> pd.DataFrame:
    """Finished results of reconstruction; for a store with the sites, the last layer's computed
    now.

    Raises:
        InputError: neither.
    """
    if folders:
        found = [KINDS["reconstruction"].load(each) for each in folders.values()]
        return pd.concat(found, ignore_index=True)
    return reconstruct(store, -1, seed=seed)


def show_reconstruction(results: pd.DataFrame, dark: bool = False) -> View:
    """The share of a state that one head's value keeps (R², held out), beside controls."""
    whole = results[(results["unit"] == "question") & (results["penalty"] == "none")]
    whole = whole[(whole["split"] == "held_out") & whole["predictor"].isin(PREDICTORS)]
    whole = whole[whole["n"] == whole.groupby(["model", "untrained"])["n"].transform("max")]
    whole = whole.sort_values(
        "predictor", key=lambda names: names.map([*PREDICTORS].index), kind="stable"
    )
    twin = whole["untrained"].map({True: ", untrained", False: ""})
    rows = pd.DataFrame(
        {
            "name": whole["predictor"].map(PREDICTORS) + ", layer " + whole["layer"].astype(str),
            "group": whole["model"].astype(str) + twin,
            "value": whole["r2"],
            "low": whole["r2_low"],
            "high": whole["r2_high"],
        }
    )
    view = show_dots(rows, "What a head's value keeps of the state, held out", "R²", dark)
    draw = partial(reconstruction_curves, results)
    return View(view.title, view.chart, draw, results, HELD_OUT)
