"""Which heads matter: the change of exact match when one head's vectors are replaced."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.errors import InputError
from tprprobe.figures.style import MUTED, Drawing, drawing, text_color, tidy

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
    figure.suptitle(
        "Change of exact match, in points, when one head's vectors are replaced", fontsize=9, x=0.01,
        ha="left", fontweight="bold",
    )  # fmt: skip
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
    wide = {
        name: rows.pivot_table(index="site", columns="head", values=name)
        .reindex(sites, columns=heads)
        .to_numpy(float)
        for name in ("change", "change_low", "change_high")
    }
    values = wide["change"]
    image = axes.imshow(values, cmap="Reds_r", vmin=lowest, vmax=0, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        low, high = (bounds[row, column] for bounds in (wide["change_low"], wide["change_high"]))
        text = f"{points:+d}" if (points := round(100 * value)) else "0"
        text = f"({text})" if low <= 0 <= high else text
        color = text_color(np.asarray(image.cmap(image.norm(value))).tolist())
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=color)
    axes.set_xticks(range(len(heads)), [str(head) for head in heads])
    axes.set_yticks(range(len(sites)), [site.removesuffix(".role") for site in sites])
    axes.spines[:].set_color(MUTED)
