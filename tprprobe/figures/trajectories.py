"""Curves over the steps of a training, on a logarithmic scale, each beside its control."""

import numpy as np
import pandas as pd

from tprprobe.figures.scenes import Lines
from tprprobe.statistics import measured

KEYS = ["run", "metric", "row"]
NOTE = "Dotted: the strongest control of the line of that color. Filled: from the onset on, where a score stays above it."


def trajectory_scene(curves: pd.DataFrame, onsets: pd.DataFrame) -> Lines:
    """A panel for each run and metric, a line for each row with its interval, and in its color its strongest control."""
    onset = curves[KEYS].merge(onsets[[*KEYS, "step"]], on=KEYS, how="left")["step"].to_numpy()
    panels, names = curves["run"] + ": " + curves["metric"], curves["row"].replace("", "score")
    columns = {"panel": panels, "group": names, "x": curves["step"]}
    rows = measured(curves, "value", line=names, sure=curves["step"].to_numpy() >= onset, **columns)
    ends = {"value": curves["control"], "low": np.nan, "high": np.nan, "sure": False}
    # matplotlib lists no label that begins with _
    controls = curves.assign(line="_control of " + names, **columns, **ends)
    scene_rows = pd.concat([rows, controls], ignore_index=True)
    return Lines(scene_rows, x="step", percent=False, log=True, note=NOTE)
