"""Curves over the steps of a training, on a logarithmic scale, each beside its control."""

import pandas as pd

from tprprobe.figures.dots import render
from tprprobe.figures.scenes import Lines
from tprprobe.figures.style import Drawing


def lapse_curves(curves: pd.DataFrame, moments: pd.DataFrame) -> Drawing:
    """A panel a question and measure, a line a row with its interval; its control is dotted, its moment a triangle."""
    return render(lapse_scene(curves, moments))


def lapse_scene(curves: pd.DataFrame, moments: pd.DataFrame) -> Lines:
    """The scene of :func:`lapse_curves`: marks are filled from the step on where a line stays above its control."""
    onsets = moments.set_index(["question", "measure", "row"])["step"].to_dict()
    keys = zip(curves["question"], curves["measure"], curves["row"], strict=True)
    onset = pd.Series([onsets.get(key, float("inf")) for key in keys], curves.index).fillna(
        float("inf")
    )
    ends = {"value_low": "low", "value_high": "high"}
    panels = curves["question"] + ": " + curves["measure"]
    rows = curves.rename(columns=ends).assign(
        panel=panels, x=curves["step"], sure=curves["step"] >= onset
    )
    rows = rows.assign(line=curves["row"].replace("", "value"))
    note = "dotted: the strongest control; filled: above it from here on"
    return Lines(rows, x="step", percent=False, log=True, note=note)
