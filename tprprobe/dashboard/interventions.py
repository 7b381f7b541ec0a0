"""Finished interventions: heads replaced, vectors snapped, vectors of two numbers or two words exchanged."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.dashboard.plots import Lines, plot_dots, plot_grid, plot_lines, plot_shares
from tprprobe.dashboard.theme import css
from tprprobe.dashboard.view import View
from tprprobe.figures.ablation import ablation_map, at_full_strength
from tprprobe.figures.by_layer import draw_lines
from tprprobe.figures.catalogue.interventions import load_swaps, load_sweeps
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.snap import snap_curve
from tprprobe.figures.swap import PARTS, TITLES, list_ways, swap_shares, way_label
from tprprobe.interventions.kinds import BEHAVIOURS, SWAPS, SWEEPS
from tprprobe.site.patterns import layer_of

ALL = "all"  # points of a sweep that are no single head and no number of centres
SNAP = "snap"
UNSET = ["none", "other text"]


def read_interventions(folder: Path) -> dict[str, pd.DataFrame]:
    """The charts that a finished run offers, by name: the edits of single heads, ``snap``, ``all``
    other edits, the kinds of exchange, or the edits of minimal pairs.

    Raises:
        InputError: the folder holds no finished run.
    """
    if BEHAVIOURS.is_in(folder):
        rows = BEHAVIOURS.load(folder)
        rows = rows.assign(control=rows["control"].fillna("").replace("", "real"))
        edits = rows.loc[(rows["control"] == "real") & ~rows["edit"].isin(UNSET), "edit"]
        return {
            str(edit): rows[(rows["edit"] == edit) | ~rows["edit"].isin(edits)]
            for edit in edits.unique()
        }
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
    if "kl" in rows:
        return _show_pairs(rows, name, dark)
    if "counterfactual" in rows:
        return _show_swaps(rows, name, dark)
    if name == ALL:
        return _show_edits(rows, dark)
    return _show_snap(rows, dark) if (rows["head"] < 0).any() else _show_heads(rows, name, dark)


def _show_pairs(rows: pd.DataFrame, edit: str, dark: bool) -> View:
    """How far an edit moves the next token towards that of the other text, by layer, beside all its controls."""
    shown = rows[~rows["edit"].isin(UNSET) & (rows["layer"] >= 0) & rows["change"].notna()]
    sure = shown["beyond_low"].gt(0) if "beyond_low" in shown else False
    lines = shown["control"].where(shown["control"] != "real", edit)
    told = [
        f"{line} at {site}: {value:.2f} nats"
        for line, site, value in zip(lines, shown["site"], shown["change"], strict=True)
    ]
    own = pd.DataFrame(
        {
            "panel": f"{edit}: nats towards the other text",
            "line": lines,
            "x": shown["site"].map(layer_of),
        }
    )
    own = own.assign(
        value=shown["change"],
        low=shown["change_low"],
        high=shown["change_high"],
        told=told,
        sure=sure,
    )
    bands = pd.DataFrame(columns=["panel", "x", "value", "low", "high"])
    drawn = Lines(
        own.sort_values(["line", "x"], kind="stable"), bands, "nats", "layer", percent=False
    )
    title = f"What ‘{edit}’ does to what is expected next, by layer"
    note = (
        f"{int(shown['n'].max())} trials; filled: beyond its strongest control (95 % interval)"
        if len(shown)
        else ""
    )
    return View(title, partial(draw_lines, drawn, title), rows, note, plot_lines(drawn, dark))


def _show_heads(rows: pd.DataFrame, edit: str, dark: bool) -> View:
    """A row per site, a column per head: the change of exact match, in points."""
    sites, heads = list(rows["site"].unique()), sorted(rows["head"].unique().tolist())
    change, low, high = (
        100
        * rows.pivot_table(index="site", columns="head", values=name)
        .reindex(sites, columns=heads)
        .to_numpy(float)
        for name in ("change", "change_low", "change_high")
    )
    depth = np.nan_to_num(np.clip(-change, 0, None))
    depth = depth / max(1.0, depth.max())
    texts, told = np.empty(change.shape, object), np.empty(change.shape, object)
    for at in np.ndindex(change.shape):
        text = (
            "" if np.isnan(change[at]) else f"{change[at]:+.0f}" if abs(change[at]) >= 0.5 else "0"
        )
        texts[at] = text if not low[at] <= 0 <= high[at] else f"({text})" if text else ""
        told[at] = f"{change[at]:+.1f} points [{low[at]:+.1f}, {high[at]:+.1f}]"
    chart = plot_grid(depth, sites, [str(head) for head in heads], dark, texts, told, ("", "head"))
    title = f"Change of exact match, in points, when one head's vectors are replaced ({edit})"
    strength = rows["strength"].iloc[0]
    title += "" if strength == 1.0 else f" × {strength:g}"
    note = f"{int(rows['n'].max())} examples; in brackets: the 95 % interval includes 0."
    return View(title, partial(ablation_map, rows), rows, note, chart)


def _show_snap(rows: pd.DataFrame, dark: bool) -> View:
    """Exact match against the number of centers; 1 is the mean, the dotted line as trained."""
    points = at_full_strength(rows[rows["edit"].isin([SNAP, "mean"])])
    points = points.assign(k=points["k"].where(points["edit"] == SNAP, 1)).sort_values("k")
    own = pd.DataFrame(
        {
            "panel": "exact match",
            "line": "snapped",
            "x": points["k"],
            "value": points["exact_match"],
        }
    )
    own = own.assign(low=points["exact_match_low"], high=points["exact_match_high"], sure=True)
    own["told"] = [
        f"{k:g} centres: {100 * value:.1f} %"
        for k, value in zip(own["x"], own["value"], strict=True)
    ]
    alone = float(rows.loc[rows["edit"] == "none", "exact_match"].iloc[0])
    band = pd.DataFrame(
        {"panel": "exact match", "x": own["x"], "value": alone, "low": alone, "high": alone}
    )
    chart = plot_lines(Lines(own, band, "exact match", "centres a head (1: the mean)"), dark)
    title = "Vectors snapped to the nearest of k centres, 95 % intervals"
    return View(
        title,
        partial(snap_curve, rows),
        points,
        "dotted: as trained",
        chart.update_xaxes(type="log"),
    )


def _show_edits(rows: pd.DataFrame, dark: bool) -> View:
    """Exact match of every edit of whole sites, with its interval."""
    is_whole = rows["strength"].eq(1) | rows["edit"].eq("none")
    names = rows["edit"].mask(~is_whole, rows["edit"] + " × " + rows["strength"].astype(str))
    dots = pd.DataFrame(
        {"name": names, "group": rows["site"].where(rows["edit"] != "none", "as trained")}
    )
    dots = dots.assign(
        value=rows["exact_match"], low=rows["exact_match_low"], high=rows["exact_match_high"]
    )
    title = "Exact match when whole sites are edited"
    return View(
        title,
        partial(interval_dots, dots, title, "exact match"),
        dots,
        "",
        plot_dots(dots, "exact match", dark),
    )


def _show_swaps(rows: pd.DataFrame, kind: str, dark: bool) -> View:
    """A bar per way of exchanging: the shares of the predicted, another and the old answer."""
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1)]
    ways = list_ways(chosen)
    found = chosen.set_index(["model", "vectors", "layer", "at"]).reindex(
        pd.MultiIndex.from_tuples(ways)
    )
    is_one = len({way[0] for way in ways}) == 1
    names = [way_label(*way).removeprefix(f"{way[0]}: " if is_one else "\0") for way in ways]
    parts = [
        (column, name, "rgba(0,0,0,0)" if column == "original" else css(colour), hatch)
        for column, name, colour, hatch in PARTS
    ]
    chart = plot_shares(found, names, parts, "share of answers", dark)
    n = int(found["n"].max()) if len(found) else 0
    note = f"{n} exchanges whose two questions the model answers; whole layers, all heads."
    title = f"Answers after an exchange: {TITLES.get(kind, kind)}".replace("\n", " ")
    return View(title, partial(swap_shares, rows, [kind]), chosen, note, chart)
