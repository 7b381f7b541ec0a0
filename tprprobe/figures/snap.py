"""Exact match as a function of k when vectors are snapped to the nearest of k centers."""

from typing import Any

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.ablation import at_full_strength, interval_note
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, palette, tidy

MARKERS = ("o", "s", "^", "D", "v")


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
        axes.errorbar(
            points["k"], values, errors, color=color, marker=MARKERS[at % len(MARKERS)],
            markersize=4.5, capsize=2, linewidth=1.2, label=f"{_words(points)} ({name})",
            linestyle=("-", "--", "-.", ":")[at % 4],
        )  # fmt: skip
    alone = sweeps[sweeps["edit"] == "none"]["exact_match"].iloc[0]
    axes.axhline(alone, color=MUTED, linewidth=0.9, linestyle=":")
    axes.annotate(
        "as trained", (0.02, alone), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", fontsize=7, color=INK,
    )  # fmt: skip
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
