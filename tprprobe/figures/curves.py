"""Learning curves: loss and exact match against training steps."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from tprprobe.errors import InputError
from tprprobe.figures.style import Drawing, drawing, legend, palette, tidy

DASHES = ("-", "--", ":", "-.")


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
        2
    """
    if empty := [name for name, log in runs.items() if log.empty]:
        raise InputError(f"the log of {empty[0]} has no rows yet: train some steps first")
    figure = drawing(7, 3)
    left, right = figure.subplots(1, 2)
    sets = sorted({name for log in runs.values() for name, _ in _sets(log)})
    for (run, log), color in zip(runs.items(), palette(len(runs)), strict=True):
        loss = log.loc[log["metric"] == "loss"]
        left.plot(loss["step"], loss["value"], color=color, linewidth=1, label=run)
        for name, rows in _sets(log):
            dash = DASHES[sets.index(name) % len(DASHES)]
            look: Any = {"color": color, "linewidth": 1.4, "marker": ".", "markersize": 4}
            right.plot(rows["step"], rows["value"], dash, label=f"{run}: {name}", **look)
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_minor_locator(NullLocator())
    left.yaxis.set_major_formatter("{x:g}")
    right.set_ylim(0, 1.02)
    right.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    _finish(left, "Training loss")
    _finish(right, "Exact match")
    handles = (right if sets else left).get_legend_handles_labels()[0]
    below: Any = {"loc": "outside lower center", "ncols": 2, "fontsize": 6.5, "handlelength": 3.5}
    legend(figure, handles, **below)
    return figure


def _sets(log: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of exact match of each evaluated set, with its name."""
    rows = log.loc[log["metric"] == "exact_match"].fillna("")
    for (data, split), each in rows.groupby(["data", "split"]):
        yield f"{str(data).removeprefix('mathematics:')} {split}".strip(), each


def _finish(axes: Axes, title: str) -> None:
    tidy(axes, title, grid="y")
    axes.set_xlabel("step")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k" if step else "0")
