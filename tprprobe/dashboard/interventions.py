"""Finished interventions: heads replaced, vectors snapped, vectors of two words exchanged, and what plug-ins edit."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tprprobe import plugins
from tprprobe.dashboard.chart_data import Dots, Lines, Squares
from tprprobe.dashboard.statements import Statement, link_vectors, number, percent, place, top
from tprprobe.dashboard.view import View, measured
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.sweeps import ablation_map, at_full_strength, snap_curve
from tprprobe.files.kinds import Kind
from tprprobe.interventions.kinds import BEHAVIORS, SWEEPS

ALL = "all"  # points of a sweep that are no single head and no number of centers
SNAP = "snap"
UNSET = ["none", "other text"]


class EditView(NamedTuple):
    """What a plug-in shows of a kind of edits: their folders, the column that their tables alone have, and what reads,
    draws and summarizes these tables.
    """

    kind: Kind
    column: str
    read: Callable[[Path], dict[str, pd.DataFrame]]
    show: Callable[[pd.DataFrame, str], View]
    summarize: Callable[[pd.DataFrame, str], Statement]


def _find_view(rows: pd.DataFrame) -> EditView | None:
    views = plugins.load_all("edit-views").values()
    return next((each for each in views if each.column in rows), None)


def read_interventions(folder: Path) -> dict[str, pd.DataFrame]:
    """The charts that a finished run offers, by name: the edits of single heads, ``snap``, ``all``
    other edits, the edits of minimal pairs, or what a plug-in reads.
    """
    if BEHAVIORS.is_in(folder):
        rows = BEHAVIORS.load(folder)
        rows = rows.assign(control=rows["control"].fillna("").replace("", "real"))
        edits = rows.loc[(rows["control"] == "real") & ~rows["edit"].isin(UNSET), "edit"]
        is_edit, others = rows["edit"].isin(edits), [str(each) for each in edits.unique()]
        return {each: rows[(rows["edit"] == each) | ~is_edit] for each in others}
    for each in plugins.load_all("edit-views").values():
        if each.kind.is_in(folder) and not SWEEPS.is_in(folder):
            return each.read(folder)
    rows = load_tables([folder], SWEEPS)
    single = at_full_strength(rows[rows["head"] >= 0])
    found = {str(edit): part for edit, part in single.groupby("edit", sort=False)}
    others = rows[(rows["head"] < 0) & (rows["edit"] != SNAP)]
    if SNAP not in found and (rows["edit"] == SNAP).any():
        found[SNAP] = rows
        others = others[others["edit"] != "mean"]  # the curve begins with it
    return found | ({ALL: others} if len(others) > 1 else {})


def show_interventions(rows: pd.DataFrame, name: str) -> View:
    """The view of one result of interventions.

    Args:
        rows: A table that ``tprprobe intervene`` wrote.
        name: Its name, which says which kind of table it is.

    Returns:
        The view.

    Examples:
        >>> columns = ["site", "layer", "head", "edit", "k", "strength", "exact_match", "exact_match_low", "exact_match_high"]
        >>> rows = pd.DataFrame([["none", None, -1, "none", None, 1.0, 0.5, 0.4, 0.6]], columns=columns)
        >>> tp.dashboard.show_interventions(rows, "sweep").title
        'Vectors snapped to the nearest of k centers, 95 % intervals'
    """
    if "kl" in rows:
        return _show_pairs(rows, name)
    if plugged := _find_view(rows):
        return plugged.show(rows, name)
    if name == ALL:
        return _show_edits(rows)
    return _show_snap(rows) if (rows["head"] < 0).any() else _show_heads(rows, name)


def summarize_edits(rows: pd.DataFrame, name: str) -> Statement:
    """What one of :func:`read_interventions` changed, in a sentence."""
    if "kl" in rows:
        return _summarize_pairs(rows)
    plugged = _find_view(rows)
    return plugged.summarize(rows, name) if plugged else _summarize_sweep(rows)


def _show_pairs(rows: pd.DataFrame, edit: str) -> View:
    """How far an edit moves the next token towards that of the other text, by layer, beside all its controls."""
    shown = rows[~rows["edit"].isin(UNSET) & (rows["layer"] >= 0) & rows["change"].notna()]
    lines = shown["control"].where(shown["control"] != "real", edit)
    told = lines + " at " + shown["site"] + shown["change"].map(": {:.2f} nats".format)
    sure = shown["beyond_low"].gt(0) if "beyond_low" in shown else False
    panel = f"{edit}: nats towards the other text"
    own = measured(shown, "change", panel=panel, line=lines, x=shown["layer"], told=told, sure=sure)
    own = own.sort_values(["line", "x"], kind="stable")
    drawn = Lines(own, own[:0], "nats", percent=False)
    trials = f"{int(shown['n'].max())} trials; " if len(shown) else ""
    note = f"{trials}filled: beyond its strongest control (95 % interval)"
    return View(f"What ‘{edit}’ does to what is expected next, by layer", rows, drawn, None, note)


def _summarize_pairs(rows: pd.DataFrame) -> Statement:
    """At which site an edit of two words moves what is expected next furthest, beside its strongest control."""
    beyond = rows["beyond"] if "beyond" in rows else pd.Series(np.nan, rows.index)
    edited = rows[(rows["control"] == "real") & beyond.notna()]
    if edited.empty:
        return Statement(f"{len(rows)} rows of edits of pairs; none stands beside a control.")
    is_sure = edited["beyond_low"] > 0 if "beyond_low" in edited else edited["beyond"] > 0
    best = top(edited[is_sure], "beyond") if is_sure.any() else top(edited, "change")
    brief = (
        f"‘{best['edit']}’ at {best['site']} moves what is expected next furthest towards the other text: by "
        f"{number(best, 'change', '.2f')} nats; minus its strongest control ({best['against']}) that is "
        f"{number(best, 'beyond', '.2f')}"
    )
    agrees = f"{percent(best, 'agrees', 0)} of {best['n']} trials"
    text = f"{brief}; the next token is then that of the other text in {agrees}."
    if not is_sure.any():
        brief = (
            "Nowhere does an edit move what is expected next surely more than its strongest control"
        )
        text = f"{brief}. {text}"
    return Statement(text, (link_vectors(best["site"]),), brief=f"{brief}.")


def _show_heads(rows: pd.DataFrame, edit: str) -> View:
    """A row per site, a column per head: the change of exact match, in points."""
    sites, heads = list(rows["site"].unique()), sorted(rows["head"].unique().tolist())
    wide: Any = rows.pivot_table(index="site", columns="head", values=["change", "change_low", "change_high"])  # fmt: skip
    change, low, high = (
        100 * wide[end].reindex(sites, columns=heads).to_numpy(float)
        for end in ("change", "change_low", "change_high")
    )
    depth = np.nan_to_num(np.clip(-change, 0, None))

    def sign(value: float, low: float, high: float) -> str:
        text = f"{value:+.0f}" if abs(value) >= 0.5 else "0"
        return "" if np.isnan(value) else f"({text})" if low <= 0 <= high else text

    def in_points(*ends: float) -> str:
        return "{:+.1f} points [{:+.1f}, {:+.1f}]".format(*ends)

    signs, told = (np.vectorize(each, [object])(change, low, high) for each in (sign, in_points))
    depth = depth / max(1.0, depth.max())
    grid = Squares(depth, sites, [*map(str, heads)], ("", "head"), signs, told)
    strength = rows["strength"].iloc[0]
    title = f"Change of exact match, in points, when one head's vectors are replaced ({edit})"
    title += "" if strength == 1.0 else f" × {strength:g}"
    note = f"{int(rows['n'].max())} examples; in brackets: the 95 % interval includes 0."
    return View(title, rows, grid, partial(ablation_map, rows), note)


def _summarize_sweep(rows: pd.DataFrame) -> Statement:
    """What an edit changed most in the answers."""
    edited = rows[rows["edit"] != "none"]
    if "change" not in edited or edited["change"].isna().all():
        return Statement(f"{len(rows)} edits were tried.")
    worst = top(edited, "change", -1)
    sure = edited[(edited["change_low"] > 0) | (edited["change_high"] < 0)]
    low, high = 100 * worst["change_low"], 100 * worst["change_high"]
    text = (
        f"{len(sure)} of {len(edited)} edits change the share of right answers beyond chance. Most does "
        f"‘{worst['edit']}’ at {place(worst['site'], worst['head'])}: {100 * worst['change']:+.1f} points "
        f"[{low:+.1f}, {high:+.1f}], of {worst['n']} questions."
    )
    is_one = "*" not in worst["site"]
    return Statement(text, (link_vectors(worst["site"], worst["head"]),) if is_one else ())


def _show_snap(rows: pd.DataFrame) -> View:
    """Exact match against the number of centers; 1 is the mean, the dotted line as trained."""
    points = at_full_strength(rows[rows["edit"].isin([SNAP, "mean"])])
    points = points.assign(k=points["k"].where(points["edit"] == SNAP, 1)).sort_values("k")
    own = measured(points, "exact_match", panel="exact match", line="snapped", sure=True)
    own = own.assign(x=np.log2(own["k"].astype(float)))
    own["told"] = own["k"].map("{:g} centers: ".format) + own["value"].map("{:.1%}".format)
    alone = float(rows.loc[rows["edit"] == "none", "exact_match"].iloc[0])
    band = own.assign(value=alone, low=alone, high=alone)
    drawn = Lines(own, band, "exact match", "log2 of the number of centers")
    title = "Vectors snapped to the nearest of k centers, 95 % intervals"
    return View(title, points, drawn, partial(snap_curve, rows), "dotted: as trained; 0: the mean")


def _show_edits(rows: pd.DataFrame) -> View:
    """Exact match of every edit of whole sites, with its interval."""
    is_whole = rows["strength"].eq(1) | rows["edit"].eq("none")
    names = rows["edit"].mask(~is_whole, rows["edit"] + " × " + rows["strength"].astype(str))
    groups = rows["site"].where(rows["edit"] != "none", "as trained")
    dots = measured(rows, "exact_match", name=names, group=groups)
    dots = dots[["value", "low", "high", "name", "group"]]
    return View("Exact match when whole sites are edited", dots, Dots(dots, "exact match"))
