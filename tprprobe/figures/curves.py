"""Learning curves: loss and exact match against training steps."""

from collections.abc import Mapping

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.dots import render
from tprprobe.figures.scenes import Grid, Lines
from tprprobe.figures.style import Drawing


def learning_curve(runs: Mapping[str, pd.DataFrame]) -> Drawing:
    """A figure of the loss (left) and of exact match on every evaluated set (right) against steps, a color per run.

    Args:
        runs: Logs by the names of runs; see [columns](training.md#columns-of-training-logs).

    Returns:
        The figure.

    Raises:
        InputError: A log has no rows.

    Examples:
        >>> log = pd.DataFrame({"step": [0, 100], "seconds": [0.0, 9.0], "metric": "loss", "data": "train"})
        >>> len(tp.figures.learning_curve({"run": log.assign(split="train", value=[4.0, 1.0])}).axes)
        1
    """
    return render(learning_scene(runs))


def learning_scene(runs: Mapping[str, pd.DataFrame]) -> Grid:
    """The scene of :func:`learning_curve`."""
    if empty := [name for name, log in runs.items() if log.empty]:
        raise InputError(f"the log of {empty[0]} has no rows yet: train some steps first")
    logs = pd.concat([log.assign(run=name) for name, log in runs.items()])
    logs = logs.assign(
        x=logs["step"], low=logs["value"], high=logs["value"], sure=True, group=logs["run"]
    )
    loss = logs[logs["metric"] == "loss"].assign(panel="loss")
    scores = logs[logs["metric"] == "exact_match"].fillna("").assign(panel="exact match")
    sets = (scores["data"].str.removeprefix("mathematics:") + " " + scores["split"]).str.strip()
    scores = scores.assign(line=scores["run"] + ": " + sets)
    scores = scores.sort_values(["line", "x"], kind="stable")
    curve = Lines(
        loss.assign(line=loss["run"]),
        x="step",
        percent=False,
        log_value=True,
        title="Training loss",
    )
    matches = Lines(scores, x="step", limits=(0, 1.02), title="Exact match")
    scenes = [scene for scene in (curve, matches) if len(scene.rows)]
    if not scenes:
        raise InputError(
            f"the log of {next(iter(runs))} has neither loss nor exact_match: train some steps first"
        )
    return Grid(scenes, len(scenes))
