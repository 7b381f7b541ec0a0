"""Learning curves: loss and exact match against training steps."""

from collections.abc import Mapping

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.scenes import Grid, Lines


def learning_scene(runs: Mapping[str, pd.DataFrame]) -> Grid:
    """The loss (left) and exact match on every evaluated set (right) against steps, a color a run; ``runs`` are logs by name."""
    if empty := [name for name, log in runs.items() if log.empty]:
        raise InputError(f"the log of {empty[0]} has no rows yet: train some steps first")
    logs = pd.concat([log.assign(run=name) for name, log in runs.items()])
    logs = logs.assign(
        x=logs["step"], low=logs["value"], high=logs["value"], sure=True, group=logs["run"]
    )
    loss = logs[logs["metric"] == "loss"].assign(panel="loss", line=lambda rows: rows["run"])
    scores = logs[logs["metric"] == "exact_match"].fillna("").assign(panel="exact match")
    data = scores["data"].str.removeprefix("mathematics:") + " "
    data = data if data.nunique() > 1 else ""
    scores = scores.assign(line=scores["run"] + ": " + (data + scores["split"]).str.strip())
    scores = scores.sort_values(["line", "x"], kind="stable")
    curve = Lines(loss, x="step", percent=False, log_value=True, title="Training loss")
    matches = Lines(scores, x="step", limits=(0, 1), title="Exact match")
    scenes = [scene for scene in (curve, matches) if len(scene.rows)]
    if not scenes:
        raise InputError(
            f"the log of {next(iter(runs))} has neither loss nor exact_match: train some steps first"
        )
    return Grid(scenes, len(scenes))
