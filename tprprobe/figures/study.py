"""A matched study: learning curves with bands, against steps and arithmetic, and final differences."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tprprobe.errors import InputError
from tprprobe.figures.style import FAINT, INK, MUTED, Drawing, drawing, palette, tidy

MARKS = "osD^vPX*<>"
SETS = {"all": "all", "discordant": "discordant", "longer": "longer questions"}


def matched_study(
    curves: pd.DataFrame, runs: pd.DataFrame, scores: pd.DataFrame, reference: str = "transformer"
) -> Drawing:
    """Exact match against steps and against arithmetic; the differences from the reference.

    Lines are means over seeds, bands reach from the lowest to the highest seed. Tables are those of
    :class:`tprprobe.training.study.Study` and :func:`tprprobe.training.study.compare_variants`.

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
    looks = dict(zip(variants, zip(palette(len(variants)), MARKS, strict=False), strict=True))
    cost = runs.groupby("variant", sort=False)["gigaflops"].mean() / 1e3  # teraflops
    figure = drawing(7, 5.6)
    places = figure.subplot_mosaic([["steps", "cost"], ["gain", "gain"]])
    left, right = places["steps"], places["cost"]
    for variant, (colour, mark) in looks.items():
        bands = (
            curves[curves["variant"] == variant]
            .groupby("step")["value"]
            .agg(["mean", "min", "max"])
        )
        for place, x in ((left, bands.index), (right, bands.index * cost[variant])):
            place.fill_between(x, bands["min"], bands["max"], color=colour, alpha=0.18, linewidth=0)
            place.plot(
                x,
                bands["mean"],
                color=colour,
                marker=mark,
                markersize=3,
                linewidth=1.2,
                label=variant,
            )
    _finish(left, "Exact match, equal steps", "step")
    _finish(right, "Exact match, equal arithmetic", "TFLOP, forward and backward")
    _gains(places["gain"], scores, looks, reference)
    handles = left.get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure


def _gains(
    axes: Axes,
    scores: pd.DataFrame,
    looks: Mapping[str, tuple[Sequence[float], str]],
    reference: str,
) -> None:
    """Differences from the reference with their intervals; a row per set, a mark per variant."""
    others = [variant for variant in looks if variant != reference]
    sets = [name for name in SETS if name in set(scores["set"])]
    for row, name in enumerate(sets):
        for place, variant in enumerate(others):
            score = scores[(scores["variant"] == variant) & (scores["set"] == name)].iloc[0]
            y = row + 0.7 * ((place + 0.5) / len(others) - 0.5)
            colour, mark = looks[variant]
            bounds = [score["difference_low"], score["difference_high"]]
            axes.plot(bounds, [y, y], color=colour, linewidth=1.4)
            axes.plot(score["difference"], y, color=colour, marker=mark, markersize=5)
            axes.annotate(
                variant, (np.nanmax([*bounds, score["difference"]]), y), (4, 0),
                textcoords="offset points", va="center", fontsize=6, color=MUTED,
            )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(sets)), [SETS[name] for name in sets])
    axes.set_ylim(len(sets) - 0.5, -0.5)
    axes.margins(x=0.12)
    tidy(axes, f"Exact match minus that of {reference}, 95 % interval over seeds and questions")
    axes.set_xlabel("points of exact match")
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+g}" if share else "0")
    axes.grid(axis="x", color=FAINT, linewidth=0.5)


def _finish(axes: Axes, title: str, label: str) -> None:
    tidy(axes, title)
    axes.set_xlabel(label)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
