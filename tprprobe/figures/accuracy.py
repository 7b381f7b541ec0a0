"""Exact match over the modules of the Mathematics Dataset."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.errors import unknown
from tprprobe.figures.style import INK, Drawing, drawing, legend, palette, tidy

SMALL = "small-test"  # fresh questions of the size that small checkpoints are trained on


def module_bars(evaluations: pd.DataFrame, split: str) -> Drawing:
    """A figure of the exact match of every module of a split, a bar per model, with 95 % intervals.

    Fresh questions of the size that small models are trained on, where they were asked too, are a panel above it.

    Args:
        evaluations: Rows of ``tprprobe eval``, one per model, split and module; see [columns](training.md#columns-of-evaluations).
        split: The split that is drawn.

    Returns:
        The figure.

    Raises:
        InputError: No evaluation of that split.

    Source: schlag Figs. 4 (interpolate) and 5 (extrapolate).

    Examples:
        >>> row = {"model": "a", "split": "interpolate", "module": "arithmetic__mixed", "n": 10, "exact_match": 0.5}
        >>> rows = pd.DataFrame([row | {"low": 0.2, "high": 0.8, "parameters": 10}])
        >>> len(tp.figures.module_bars(rows, "interpolate").axes)
        1
    """
    splits = {name: of for name, of in evaluations.groupby("split") if name in (split, SMALL)}
    if split not in splits:
        raise unknown("split", split, sorted(set(evaluations["split"])))
    shown = [(name, splits[name]) for name in (SMALL, split) if name in splits]
    models = list(dict.fromkeys(model for _, of in shown for model in of["model"]))
    counts = [of["module"].nunique() for _, of in shown]
    height = max(0.155, 0.06 * len(models) + 0.035)
    figure = drawing(7, sum(counts) * height + 0.65 * len(shown) + 0.35)
    panels = np.atleast_1d(figure.subplots(len(shown), sharex=True, height_ratios=counts))
    for axes, (name, of_split) in zip(panels, shown, strict=True):
        _draw_modules(axes, of_split, models)
        tidy(axes, f"Exact match by module, {name} (lines: 95 % intervals)", grid="x")
        axes.tick_params(axis="y", length=0, labelsize=6.5)
    panels[-1].set_xlabel("exact match")
    legend(figure, *panels[0].get_legend_handles_labels())
    return figure


def _draw_modules(axes: Axes, shown: pd.DataFrame, models: Sequence[str]) -> None:
    """A bar per module and model of one split."""
    modules = sorted(set(shown["module"]))
    for number, (model, color) in enumerate(zip(models, palette(len(models)), strict=True)):
        of_model = shown.loc[shown["model"] == model]
        place = of_model["module"].map(modules.index) + 0.8 * ((number + 0.5) / len(models) - 0.5)
        axes.barh(place, of_model["exact_match"], 0.8 / len(models), color=color, label=model)
        axes.hlines(place, of_model["low"], of_model["high"], color=INK, linewidth=0.8)
    names = [module.replace("__", " · ") for module in modules]
    axes.set(xlim=(0, 1.005), ylim=(len(modules) - 0.5, -0.5))
    axes.set_yticks(range(len(modules)), names)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_axisbelow(True)
