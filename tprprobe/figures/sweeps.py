"""Sweeps: the change of exact match by head replaced, and exact match by number of centers."""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Grid, Lines, Squares
from tprprobe.statistics import measured

BRACKETS = "(In parentheses): the interval includes 0."
CHANGE = ["change", "change_low", "change_high"]
SNAP, MEAN = "snap", "mean"


def ablation_map(sweeps: pd.DataFrame) -> Grid:
    """A panel per edit, a row per site, a column per head: the change of exact match, in points.

    ``sweeps`` has the rows of ``sweep``, of which those of one strength are drawn (:func:`at_full_strength`).
    In parentheses: changes whose intervals include 0.
    """
    if not (sweeps["head"] >= 0).any():
        raise InputError('these sweeps have no single heads: put heads = "each" into the recipe')
    rows = at_full_strength(sweeps[sweeps["head"] >= 0])
    scale = max(0.01, -rows["change"].min())
    groups = rows.groupby("edit", sort=False)
    pictures = [head_squares(of_edit, str(edit), scale) for edit, of_edit in groups]
    title = "Change of exact match, in points, when one head's vectors are replaced"
    return Grid(pictures, 2, title=title, note=f"{interval_note(rows)}\n{BRACKETS}")


def head_squares(rows: pd.DataFrame, edit: str, scale: float = 0.0) -> Squares:
    """The squares of one edit: darker for a larger loss, black at ``scale`` (default: the largest of these)."""
    sites, heads = list(rows["site"].unique()), sorted(rows["head"].unique().tolist())
    wide: Any = rows.pivot_table(index="site", columns="head", values=CHANGE)
    points = [100 * wide[end].reindex(sites, columns=heads).to_numpy(float) for end in CHANGE]
    loss = np.clip(np.nan_to_num(-points[0]), 0, None)
    loss /= 100 * scale or max(1.0, loss.max())
    texts, hints = (np.vectorize(write, [object])(*points) for write in (_write_points, _write_all))
    labels = [site_label(site).removesuffix(", role") for site in sites]
    strength = rows["strength"].iloc[0]
    title = edit if strength == 1.0 else f"{edit} × {strength:g}"
    marks = rows[["site", "head", *CHANGE]].set_axis(
        ["site", "head", "value", "low", "high"], axis=1
    )
    names = [*map(str, heads)]
    return Squares(loss, labels, names, ("", "head"), texts, hints, title=title, marks=marks)


def _write_points(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return ""
    text = f"{value:+.0f}".replace("-", "−") if round(value) else "0"
    return f"({text})" if low <= 0 <= high else text


def _write_all(value: float, low: float, high: float) -> str:
    return f"{value:+.1f} points [{low:+.1f}, {high:+.1f}]".replace("-", "−")


def interval_note(rows: pd.DataFrame) -> str:
    """What the intervals of a sweep are over, and of how many examples."""
    counts = " and ".join(f"{n:,}" for n in sorted(rows["n"].unique()))
    return f"n = {counts} questions; intervals are 95 %, over questions."


def at_full_strength(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of strength 1; of a sweep without it, those of its largest strength."""
    strengths = rows["strength"]
    return rows[strengths == (1.0 if (strengths == 1.0).any() else strengths.max())]


def snap_curve(sweeps: pd.DataFrame) -> Lines:
    """A line per sweep: exact match against the number of centers, k = 1 being the mean.

    ``sweeps`` has the rows of ``sweep`` with a column name: what was snapped.
    """
    if not (sweeps["edit"] == SNAP).any():
        raise InputError(
            'these sweeps have no edit snap: put edits = ["snap"] and clusters into the recipe'
        )
    points = at_full_strength(sweeps[sweeps["edit"].isin([SNAP, MEAN])])
    points = points.assign(k=points["k"].where(points["edit"] == SNAP, 1)).sort_values("k")
    panel, names = "exact match", points.get("name", "sweep")
    lines = points["site"].map(_name_vectors) + " (" + names + ")"
    hints = points["k"].map("{:g} centers: ".format) + points["exact_match"].map("{:.1%}".format)
    rows = measured(
        points, "exact_match", panel=panel, line=lines, x=points["k"], sure=True, told=hints
    )
    unedited = sweeps.loc[sweeps["edit"] == "none", "exact_match"].iloc[0]
    levels = pd.DataFrame({"panel": [panel], "line": ["as trained"], "value": [unedited]})
    return Lines(
        rows, label=panel, x="centers a head (1: the mean)", levels=levels, log=True, limits=(0, 1),
        title="Vectors snapped to the nearest of k centers", note=interval_note(sweeps),
    )  # fmt: skip


def _name_vectors(site: str) -> str:
    """The last word of some sites, in the plural."""
    return " and ".join(sorted({f"{name.rsplit('.', 1)[-1]}s" for name in site.split(" + ")}))
