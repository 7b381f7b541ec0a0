"""The figure of the networks that are built to bind."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tprprobe.figures.colors import HUES
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, tidy


def draw_binding(
    models: pd.DataFrame, shares: pd.DataFrame, titles: Mapping[tuple[str, str], str]
) -> Drawing:
    """A row for every task and model: left the bindings' share, right swaps of roles beside right answers."""
    tasks = [*dict.fromkeys(task for task, _ in titles)]
    heights = {
        name: i + tasks.index(name[0]) for i, name in enumerate(titles)
    }  # a gap between tasks
    figure = drawing(7.2, 1.3 + 0.16 * (len(heights) + len(tasks)))  # a line of text a row
    left, right = figure.subplots(1, 2, sharey=True)
    for weights, color, face in (("untrained", MUTED, "none"), ("trained", HUES[5], HUES[5])):
        rows = shares[shares["weights"] == weights]
        label = "random weights" if weights == "untrained" else weights
        draw_points(left, rows, "share", heights, color=color, face=face, label=label)
    hard = models.assign(hard=models["test"].fillna(models["dev"]))
    draw_points(right, hard, "hard", heights, MUTED, "none", "right answers")
    draw_points(right, hard, "algebra", heights, HUES[0], HUES[0], "answers of the algebra")
    left.set_yticks([*heights.values()], [*titles.values()])
    left.invert_yaxis()
    left.axvline(0, color=INK, linewidth=0.5)
    left.set_xlabel("share of variance due to bindings")
    right.set_xlabel("share of answers")
    tidy(left, "How much the state binds")
    tidy(right, "Exchanged roles, and hardest test")
    for axes in (left, right):
        axes.legend(
            frameon=False, fontsize=6.5, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.13)
        )
    return figure


def draw_points(
    axes: Any,
    rows: pd.DataFrame,
    column: str,
    heights: dict[tuple[str, str], int],
    color: str,
    face: str,
    label: str,
) -> None:
    """A point for every row, at the height of its task and model."""
    height = [heights[name] for name in zip(rows["task"], rows["model"], strict=True)]
    axes.scatter(rows[column], height, s=22, edgecolors=color, facecolors=face, label=label)
