"""Discreteness of a dictionary of roles: the peaks of its distributions, and the cost of one-hot
roles.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, INK, MUTED, Drawing, drawing, tidy
from tprprobe.statistics import Interval, interval_text

LINES: Sequence[Any] = ("-", "--", ":", "-.")
MARKERS = "osD^"
PEAK, PRINTED = 0.98, 0.9  # of a distribution, and the share of those above that the paper found


def role_peaks(
    heads: pd.DataFrame, peaks: Mapping[str, np.ndarray], cost: pd.DataFrame | None = None
) -> Drawing:
    """The distribution of the highest role weight (left), and each head's share above .98 (right).

    ``heads`` are the rows of :func:`tprpapers.jiang.discreteness.measure_roles`, ``peaks`` the highest
    weights by sub-layer; ``cost`` (score, as_trained, one_hot, low, high of the difference) goes
    below. Source: jiang §4.4.
    """
    figure = drawing(7, 3.1 if cost is None else 3.4)
    share_axes, head_axes = figure.subplots(1, 2)
    colors = palette(len(peaks))
    for i, (name, values) in enumerate(peaks.items()):
        _draw_share(share_axes, name, values, colors[i], LINES[i % len(LINES)])
        _draw_heads(head_axes, heads[heads["sublayer"] == name], i, colors[i], len(peaks))
    _finish_shares(share_axes)
    _finish_heads(head_axes, heads)
    if cost is not None:
        lines = [_describe(row) for row in cost.to_dict("records")]
        figure.supxlabel("every distribution made one-hot: " + "; ".join(lines), fontsize=7)
    return figure


def _draw_share(axes: Axes, name: str, values: np.ndarray, color: Any, line: Any) -> None:
    ordered = np.sort(values)
    share = 1 - np.arange(len(ordered)) / len(ordered)
    indices = np.unique(np.linspace(0, len(ordered) - 1, 400).astype(int))
    above = (values > PEAK).mean()
    label = f"{name}: {above:.0%} above {PEAK}"
    axes.plot(ordered[indices], share[indices], line, color=color, linewidth=1.6, label=label)


def _finish_shares(axes: Axes) -> None:
    axes.axvline(PEAK, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="highest role weight", ylabel="share at or above")
    axes.legend(fontsize=7, frameon=False, loc="lower left")
    tidy(axes, "Role distributions")


def _draw_heads(axes: Axes, heads: pd.DataFrame, place: int, color: Any, n: int) -> None:
    offset = (place - (n - 1) / 2) * 0.22
    axes.scatter(
        heads["layer"].to_numpy(float) + offset,
        heads["above_98"],
        marker=MARKERS[place % len(MARKERS)],
        s=22,
        color=color,
        edgecolor=INK,
        linewidth=0.4,
        label=str(heads["sublayer"].iloc[0]),
    )


def _finish_heads(axes: Axes, heads: pd.DataFrame) -> None:
    layers = sorted({*heads["layer"]})
    axes.axhline(PRINTED, color=MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.text(layers[-1] + 0.48, PRINTED + 0.01, "the paper: more", fontsize=6.5, ha="right")
    axes.set(xlim=(layers[0] - 0.5, layers[-1] + 0.5), ylim=(0, 1.02), xticks=layers)
    axes.set(xlabel="layer", ylabel=f"share above {PEAK}")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    tidy(axes, "Every head")


def _describe(row: Mapping[Any, Any]) -> str:
    difference = Interval(row["one_hot"] - row["as_trained"], row["low"], row["high"])
    return (
        f"{row['score']} {row['as_trained']:.3f} → {row['one_hot']:.3f} "
        f"({interval_text(difference, '+.3f')})"
    )
