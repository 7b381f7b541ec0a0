"""Discreteness of a dictionary of roles: the peaks of its distributions, and the cost of one-hot
roles.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.figures.scenes import Dots, Grid, Lines
from tprprobe.statistics import Interval, interval_text

PEAK, PRINTED = 0.98, 0.9  # of a distribution, and the share of those above that the paper found
N_POINTS = 400  # of a line


def role_peaks(
    heads: pd.DataFrame, peaks: Mapping[str, np.ndarray], cost: pd.DataFrame | None = None
) -> Grid:
    """The distribution of the highest role weight (left), and each head's share above .98 (right).

    ``heads`` are the rows of :func:`tprpapers.jiang.discreteness.measure_roles`, ``peaks`` the highest
    weights by sub-layer; ``cost`` (score, as_trained, one_hot, low, high of the difference) goes
    below. Source: jiang §4.4.
    """
    title = "Role distributions"
    shares = pd.concat([_rank(values).assign(line=name) for name, values in peaks.items()])
    shares = shares.assign(panel=title, low=shares["value"], high=shares["value"], sure=True)
    look: Any = {"x": "highest role weight", "limits": (0, 1.02), "title": title}
    lines = Lines(shares.reset_index(drop=True), label="share at or above", **look)
    values = dict.fromkeys(("value", "low", "high"), heads["above_98"])
    names = "layer " + heads["layer"].astype(int).astype(str)
    rows = heads.assign(name=names, group=heads["sublayer"], **values).sort_values("layer")
    dots = Dots(rows, f"share above {PEAK}", (0, 1.02), title="Every head")
    above = [f"{name} {(values > PEAK).mean():.0%}" for name, values in peaks.items()]
    notes = [f"Above {PEAK}: {', '.join(above)}; the paper: more than {PRINTED:.0%}."]
    if cost is not None:
        costs = "; ".join(_describe(row) for row in cost.to_dict("records"))
        notes.append(f"Every distribution made one-hot: {costs}.")
    return Grid([lines, dots], 2, note="\n".join(notes))


def _rank(values: np.ndarray) -> pd.DataFrame:
    """Values, and the share of them that are as large."""
    index = np.unique(np.linspace(0, len(values) - 1, N_POINTS).astype(int))
    return pd.DataFrame({"x": np.sort(values)[index], "value": 1 - index / len(values)})


def _describe(row: Mapping[Any, Any]) -> str:
    difference = Interval(row["one_hot"] - row["as_trained"], row["low"], row["high"])
    return (
        f"{row['score']} {row['as_trained']:.3f} → {row['one_hot']:.3f} "
        f"({interval_text(difference, '+.3f')})"
    )
