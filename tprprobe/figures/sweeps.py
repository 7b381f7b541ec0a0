"""Sweeps: the change of exact match by head replaced, and exact match by number of centers."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.errors import InputError
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, palette, text_color, tidy

MARKERS = ("o", "s", "^", "D", "v")
BRACKETS = "(In brackets): the interval includes 0."


def ablation_map(sweeps: pd.DataFrame) -> Drawing:
    """A panel per edit, a row per site, a column per head: the change of exact match, in points.

    ``sweeps`` has the rows of ``sweep``, of which those of one strength are drawn (:func:`at_full_strength`).
    In brackets: intervals that include 0.
    """
    if not (sweeps["head"] >= 0).any():
        raise InputError('these sweeps have no single heads: put heads = "each" into the recipe')
    rows = at_full_strength(sweeps[sweeps["head"] >= 0])
    strength = rows["strength"].iloc[0]
    edits, sites = rows["edit"].unique(), list(rows["site"].unique())
    heads = sorted(rows["head"].unique().tolist())
    across = min(2, len(edits))
    down = -(-len(edits) // across)
    figure = drawing(7, 0.6 + down * (0.62 + 0.24 * len(sites)))
    panels: Any = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    lowest = min(rows["change"].min(), -0.01)
    for edit, axes in zip(edits, panels.flat, strict=False):
        _draw(axes, rows[rows["edit"] == edit], sites, heads, lowest)
        tidy(axes, str(edit) if strength == 1.0 else f"{edit} × {strength:g}")
    for axes in panels.flat[len(edits) :]:
        axes.set_axis_off()
    for axes in panels[-1]:
        axes.set_xlabel("head")
    title = "Change of exact match, in points, when one head's vectors are replaced"
    figure.suptitle(title, fontsize=9, x=0.01, ha="left", fontweight="bold")
    figure.put_below([interval_note(rows), BRACKETS])
    return figure


def interval_note(rows: pd.DataFrame) -> str:
    """What the intervals of a sweep are over, and of how many examples."""
    counts = " and ".join(f"{n:,}" for n in sorted(rows["n"].unique()))
    return f"n = {counts} questions; intervals are 95 %, over questions."


def at_full_strength(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of strength 1; of a sweep without it, those of its largest strength."""
    strengths = rows["strength"]
    return rows[strengths == (1.0 if (strengths == 1.0).any() else strengths.max())]


def _draw(
    axes: Axes, rows: pd.DataFrame, sites: list[str], heads: list[int], lowest: float
) -> None:
    names = ["change", "change_low", "change_high"]
    wide: Any = rows.pivot_table(index="site", columns="head", values=names)
    values, *bounds = (wide[name].reindex(sites, columns=heads).to_numpy(float) for name in names)
    image = axes.imshow(values, cmap="Reds_r", vmin=lowest, vmax=0, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        low, high = (bound[row, column] for bound in bounds)
        text = f"{points:+d}" if (points := round(100 * value)) else "0"
        text = f"({text})" if low <= 0 <= high else text
        color = text_color(np.asarray(image.cmap(image.norm(value))).tolist())
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=color)
    axes.set_xticks(range(len(heads)), [str(head) for head in heads])
    axes.set_yticks(range(len(sites)), [site.removesuffix(".role") for site in sites])
    axes.spines[:].set_color(MUTED)


def snap_curve(sweeps: pd.DataFrame) -> Drawing:
    """A line per sweep: exact match against the number of centers, k = 1 being the mean.

    ``sweeps`` has the rows of ``sweep`` with a column name: what was snapped.
    """
    if not (sweeps["edit"] == "snap").any():
        raise InputError(
            'these sweeps have no edit snap: put edits = ["snap"] and clusters into the recipe'
        )
    figure = drawing(5, 3)
    axes = figure.subplots()
    curves: Any = sweeps.groupby("name", sort=False)
    for at, (name, rows) in enumerate(curves):
        points = at_full_strength(rows[rows["edit"].isin(["snap", "mean"])])
        points = points.assign(k=points["k"].where(points["edit"] == "snap", 1)).sort_values("k")
        values = points["exact_match"]
        errors = [values - points["exact_match_low"], points["exact_match_high"] - values]
        color = palette(at + 1)[-1]
        look: Any = {"color": color, "marker": MARKERS[at % len(MARKERS)], "markersize": 4.5}
        look |= {"capsize": 2, "linewidth": 1.2, "linestyle": ("-", "--", "-.", ":")[at % 4]}
        axes.errorbar(points["k"], values, errors, label=f"{_words(points)} ({name})", **look)
    alone = sweeps[sweeps["edit"] == "none"]["exact_match"].iloc[0]
    axes.axhline(alone, color=MUTED, linewidth=0.9, linestyle=":")
    placed: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate("as trained", (0.02, alone), (0, 3), fontsize=7, color=INK, **placed)
    axes.set_xscale("log")
    ticks = sorted({1, *sweeps.loc[sweeps["edit"] == "snap", "k"]})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set(xlabel="centers a head (1: the mean)", ylabel="exact match", ylim=(0, 1))
    tidy(axes, "Vectors of all heads snapped to k centers", grid="y")
    axes.legend(fontsize=7, frameon=False)
    figure.put_below([interval_note(sweeps)])
    return figure


def _words(points: pd.DataFrame) -> str:
    """The last word of the snapped sites, in the plural."""
    sites = points["site"].iloc[0].split(" + ")
    return " and ".join(sorted({f"{site.rsplit('.', 1)[-1]}s" for site in sites}))
