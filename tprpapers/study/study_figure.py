"""A matched study: differences from one variant while training, at equal arithmetic and at the end."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tprpapers.study.comparisons import BASELINE, STARTED
from tprprobe.errors import InputError
from tprprobe.figures.scenes import Dots, Grid, Lines
from tprprobe.statistics import measured

SETS = {"all": "all", "discordant": "discordant", "longer": "longer questions"}
STARTED_AS = f"{STARTED}, the Transformer whose weights start as the TP-Transformer's"
TITLES = ("At equal steps", "At equal arithmetic", "At the end")
NOTE = "Zero: {}. Variants have {:,} to {:,} weights. While training: means, lowest and highest of runs of one seed. At the end: 95 % intervals over seeds and questions."


def matched_study(
    curves: pd.DataFrame, runs: pd.DataFrame, scores: pd.DataFrame, reference: str = BASELINE
) -> Grid:
    """Exact match minus the reference's, at equal steps, at equal arithmetic and at the end.

    Differences are of runs of one seed; lines are their means, bands reach from the lowest to the
    highest. Tables are those of :class:`tprpapers.study.records.Study` and
    :func:`tprpapers.study.comparisons.compare_variants`.

    Raises:
        InputError: no run was evaluated.
    """
    curves = curves[curves["metric"] == "exact_match"]
    if curves.empty:
        raise InputError(
            "this study's runs have no exact match: give its recipe [[recipe.evaluate]]"
        )
    cost = runs.groupby("variant", sort=False)["gigaflops"].mean() / 1e3  # teraflops
    label = f"exact match − {reference}"
    units = {"step": cost * 0 + 1, "TFLOP, forward and backward": cost}
    pictures = [
        _difference_lines(curves, unit, reference, {"x": x, "label": label, "title": title})
        for (x, unit), title in zip(units.items(), TITLES, strict=False)
    ]
    is_drawn = (scores["measure"] == "exact_match") & scores["variant"].ne(reference)
    scores = scores[is_drawn & scores["set"].isin([*SETS])]
    scores = scores.assign(set=pd.Categorical(scores["set"], [*SETS])).sort_values("set")
    names = scores["set"].astype(str).map(SETS)
    gains = measured(scores, "difference", name=names, group=scores["variant"])
    ends = gains[["low", "high"]].to_numpy(float)
    limits = (min(0.0, ends.min()) - 0.005, max(0.0, ends.max()) + 0.005)
    drawn = [picture for picture in pictures if len(picture.rows)]
    zero = STARTED_AS if reference == STARTED else reference
    note = NOTE.format(zero, runs["parameters"].min(), runs["parameters"].max())
    return Grid([*drawn, Dots(gains, label, limits, title=TITLES[2])], 2, note=note)


def _difference_lines(
    curves: pd.DataFrame, unit: "pd.Series[float]", reference: str, look: Mapping[str, Any]
) -> Lines:
    """A line per variant against steps, or against their cost in a unit."""
    tables = [
        _differences(curves, variant, reference, unit[variant] / unit[reference]).assign(
            line=variant, group=variant, x=lambda table, rate=unit[variant]: table.index * rate
        )
        for variant in unit.index
        if variant != reference
    ]
    rows = pd.concat(tables, ignore_index=True).assign(panel=look["title"], sure=True)
    levels = pd.DataFrame({"panel": [look["title"]], "line": reference, "value": 0.0})
    return Lines(rows, levels=levels, **look)


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
    statistics = {"value": "mean", "low": "min", "high": "max"}
    if not tables:
        return pd.DataFrame(columns=[*statistics], dtype=float)
    differences = pd.concat(tables).groupby("step")["value"]
    return differences.agg([*statistics.values()]).set_axis([*statistics], axis=1)
