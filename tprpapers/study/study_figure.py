"""A matched study: differences from one variant while training, at equal arithmetic and at the end."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from tprprobe.errors import InputError
from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, INK, Drawing, drawing, tidy

MARKS = "osD^vPX*<>"
SETS = {"all": "all", "discordant": "discordant", "longer": "longer questions"}


def matched_study(
    curves: pd.DataFrame, runs: pd.DataFrame, scores: pd.DataFrame, reference: str = "transformer"
) -> Drawing:
    """Exact match minus the reference's, at equal steps, at equal arithmetic and at the end.

    Differences are of runs of one seed; lines are their means, bands reach from the lowest to the
    highest. Tables are those of :class:`tprpapers.study.records.Study` and
    :func:`tprpapers.study.comparisons.compare_variants`.

    Raises:
        InputError: no run was evaluated.
    """
    curves = curves[curves["metric"] == "exact_match"]
    scores = scores[scores["measure"] == "exact_match"]
    if curves.empty:
        raise InputError(
            "this study's runs have no exact match: give its recipe [[recipe.evaluate]]"
        )
    variants = list(dict.fromkeys(runs["variant"]))
    styles = dict(
        zip(variants, zip(_colors(variants, reference), MARKS, strict=False), strict=True)
    )
    cost = runs.groupby("variant", sort=False)["gigaflops"].mean() / 1e3  # teraflops
    figure = drawing(7, 6.6)
    mosaic: Any = [["steps", "cost"], ["gain", "gain"]]
    places = figure.subplot_mosaic(mosaic, height_ratios=[2, 3])
    for variant, (color, mark) in styles.items():
        for place, unit in (("steps", 1.0), ("cost", cost[variant])):
            rate = 1.0 if place == "steps" else cost[reference]
            bands = _differences(curves, variant, reference, unit / rate)
            x, axes = bands.index * unit, places[place]
            axes.fill_between(x, bands["min"], bands["max"], color=color, alpha=0.15, linewidth=0)
            axes.plot(
                x, bands["mean"], color=color, marker=mark, markersize=3, linewidth=1.2,
                label=variant,
            )  # fmt: skip
    _finish(places["steps"], "At equal steps", "step")
    _finish(places["cost"], "At equal arithmetic", "TFLOP, forward and backward")
    places["steps"].set_ylabel(f"points, minus {reference}'s")
    _gains(places["gain"], scores, styles, reference)
    handles = places["steps"].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure


def _colors(variants: Sequence[str], reference: str) -> list[tuple[float, float, float]]:
    """A color per variant, in their order; the reference, which all lie about, is of the color of ink."""
    hues = iter(palette(len(variants)))
    return [to_rgb(INK) if variant == reference else next(hues) for variant in variants]


def _differences(curves: pd.DataFrame, variant: str, reference: str, ratio: float) -> pd.DataFrame:
    """Mean, lowest and highest difference of runs of one seed, where the reference has done ``ratio`` times the steps."""
    tables = []
    for seed, variant_curve in curves[curves["variant"] == variant].groupby("seed"):
        reference_curve = curves[(curves["variant"] == reference) & (curves["seed"] == seed)]
        if len(reference_curve):
            steps = variant_curve["step"] * ratio
            reference_values = np.interp(steps, reference_curve["step"], reference_curve["value"])
            inside = steps <= reference_curve["step"].max() + 1e-6
            tables.append(
                variant_curve.assign(value=variant_curve["value"] - reference_values)[inside]
            )
    if not tables:
        return pd.DataFrame(columns=["mean", "min", "max"], dtype=float)
    return pd.concat(tables).groupby("step")["value"].agg(["mean", "min", "max"])


def _gains(
    axes: Axes,
    scores: pd.DataFrame,
    styles: Mapping[str, tuple[Sequence[float], str]],
    reference: str,
) -> None:
    """Differences from the reference with their intervals; a row per set, a mark per variant."""
    variants = [variant for variant in styles if variant != reference]
    sets = [name for name in SETS if name in set(scores["set"])]
    for row, name in enumerate(sets):
        for place, variant in enumerate(variants):
            score = scores[(scores["variant"] == variant) & (scores["set"] == name)].iloc[0]
            y = row + 0.7 * ((place + 0.5) / len(variants) - 0.5)
            color, mark = styles[variant]
            bounds = [score["difference_low"], score["difference_high"]]
            axes.plot(bounds, [y, y], color=color, linewidth=1.4)
            axes.plot(score["difference"], y, color=color, marker=mark, markersize=5)
            axes.annotate(
                variant, (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=6,
                color=INK, annotation_clip=False,
            )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(sets)), [SETS[name] for name in sets])
    axes.set_ylim(len(sets) - 0.5, -0.5)
    tidy(axes, f"At the end: minus {reference}'s, 95 % interval over seeds and questions")
    axes.set_xlabel("points of exact match")
    axes.xaxis.set_major_formatter(_points)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)


def _finish(axes: Axes, title: str, label: str) -> None:
    tidy(axes, title)
    axes.set(xlabel=label, ylabel="points")
    axes.set_xlim(left=0)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(_points)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)


def _points(share: float, _: object) -> str:
    return f"{100 * share:+.3g}" if abs(share) > 1e-9 else "0"
