"""Exact match over the modules of the Mathematics Dataset."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from tprprobe.errors import unknown
from tprprobe.figures.colors import palette
from tprprobe.figures.legends import legend
from tprprobe.figures.style import INK, Drawing, drawing, tidy

SMALL = "small-test"  # fresh questions of the size that small checkpoints are trained on
UNSEEN = 0.03  # exact match whose bar is too short to be seen


def module_bars(evaluations: pd.DataFrame, split: str) -> Drawing:
    """A figure of the exact match of every module of a split, a bar per model, with 95 % intervals.

    ``evaluations`` are rows of ``tprprobe eval``. Fresh questions of the size that small models are trained on are a panel
    above, where they were asked. Source: schlag Figs. 4 (interpolate) and 5 (extrapolate).
    """
    splits = {name: rows for name, rows in evaluations.groupby("split") if name in (split, SMALL)}
    if split not in splits:
        raise unknown("split", split, sorted(set(evaluations["split"])))
    tables = {name: splits[name] for name in (SMALL, split) if name in splits}
    models = list(dict.fromkeys(model for rows in tables.values() for model in rows["model"]))
    counts = [rows["module"].nunique() for rows in tables.values()]
    height = max(0.155, 0.06 * len(models) + 0.035)
    figure = drawing(7, sum(counts) * height + 0.65 * len(tables) + 0.35)
    panels = np.atleast_1d(figure.subplots(len(tables), sharex=True, height_ratios=counts))
    for axes, (name, rows) in zip(panels, tables.items(), strict=True):
        _draw_modules(axes, rows, models)
        tidy(axes, f"Exact match, {name}", grid="x")
        axes.tick_params(axis="y", length=0, labelsize=6.5)
    panels[-1].set_xlabel("exact match")
    legend(figure, *panels[0].get_legend_handles_labels())
    figure.put_below(["Lines: 95 % intervals."])
    columns = {"exact_match": "value"}
    figure.numbers = pd.concat(tables.values(), ignore_index=True).rename(columns=columns)
    return figure


def _draw_modules(axes: Axes, rows: pd.DataFrame, models: Sequence[str]) -> None:
    """A bar per module and model of one split."""
    modules = sorted(set(rows["module"]))
    for i, (model, color) in enumerate(zip(models, palette(len(models)), strict=True)):
        of_model = rows.loc[rows["model"] == model]
        y = of_model["module"].map(modules.index) + 0.8 * ((i + 0.5) / len(models) - 0.5)
        axes.barh(y, of_model["exact_match"], 0.8 / len(models), color=color, label=model)
        axes.hlines(y, of_model["low"], of_model["high"], color=INK, linewidth=0.8)
        for row, place in zip(of_model.to_dict("records"), y, strict=True):
            if row["exact_match"] < UNSEEN:
                text, look = f"{row['exact_match']:.0%}", {"va": "center", "fontsize": 5}
                axes.text(row["high"] + UNSEEN / 2, place, text, color=INK, **look)
    axes.set(xlim=(0, 1), ylim=(len(modules) - 0.5, -0.5))
    areas = {name.partition("__")[0] for name in modules}
    names = [
        name.partition("__")[2] if len(areas) == 1 else name.replace("__", " · ")
        for name in modules
    ]
    axes.set_yticks(range(len(modules)), names)
    axes.set_ylabel("".join(areas) if len(areas) == 1 else "")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_axisbelow(True)
