"""Finished results: probes, what clusters tell, reconstruction; values with intervals and controls."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.word_names import count_names
from tprprobe.dashboard.safe_text import plotted, visible
from tprprobe.dashboard.theme import colours, dress, look
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.naming import polarity_table, words_table
from tprprobe.figures.reconstruction import reconstruction_curves

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
PREDICTORS = {
    "heads": "one head (mean)",
    "random": "random projections",
    "pca": "PCA",
    "mean": "mean of z",
    "all heads": "all heads",
}

R2 = "R²"
TOLD = "%{y}: %{x:FORM} [%{customdata[0]:FORM}, %{customdata[1]:FORM}]"
MARKS = (
    "A mark is R² on a quarter of the questions, held out; the bar through it its 95 % interval over questions (of several "
    "thousand tokens narrower than the mark). Dotted: what the mean keeps, and what keeps all."
)


def read_probes(folders: dict[str, Path]) -> pd.DataFrame:
    """The rows of finished probes."""
    return load_probes(folders.values())


def show_decoding(
    folder: Path, subset: str = "all", dark: bool = False, every: bool = True
) -> View:
    """The accuracy of clusters alone on numerators and denominators, held out, beside every
    control; of every head, or of the best of each kind.
    """
    naming = load_names(folder)
    rows = naming.decoding[naming.decoding["subset"] == subset]
    if rows.empty:
        raise InputError(f"no digits of {subset!r} in {folder}: give another subset")
    own = rows[rows["predictor"] == "clusters"]
    if not every:
        own = own.loc[own.groupby(["model", "vectors"], sort=False)["accuracy"].idxmax()]
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
    """Values with intervals: a line per name, a color and symbol per group; R² as it is, all else in percent."""
    chart, form = go.Figure(), ".2f" if label == R2 else ".0%"
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
                customdata=part[["low", "high"]].to_numpy(float),
                hovertemplate=TOLD.replace("FORM", ".3f" if label == R2 else ".1%"),
                error_x={"type": "data", "symmetric": False, **errors},
                marker={"color": colour, "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9},
            )
        )
    height = 120 + 24 * rows["name"].nunique()
    dress(chart, height, dark, "zoom")
    chart.update_xaxes(title=label, tickformat=form, showgrid=True, gridcolor=look(dark).faint)
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    )
    return View(title, chart, partial(interval_dots, rows, title, label), rows)


def read_reconstruction(folders: dict[str, Path]) -> pd.DataFrame:
    """Finished results of reconstruction, one folder after another."""
    found = [RECONSTRUCTION.load(each) for each in folders.values()]
    return pd.concat(found, ignore_index=True)


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
    view = show_dots(rows, "What a head's value keeps of the state, held out", R2, dark)
    for value in (0, 1):
        view.chart.add_vline(value, line={"dash": "dot", "width": 1, "color": look(dark).soft})
    draw = partial(reconstruction_curves, results)
    return View(view.title, view.chart, draw, results, MARKS)
