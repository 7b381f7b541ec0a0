"""Unbinding vectors in the plane by what they generate: huang's Figures 3 to 7."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Shaped

from tprprobe.analyses.projections import Projection
from tprprobe.figures.colors import HUES
from tprprobe.figures.legends import legend
from tprprobe.figures.style import (
    INK,
    PANEL_TITLE,
    Drawing,
    fit_across,
    headline,
    open_panels,
    tidy,
)

MARKS = "o^svDPX*<>"
GREY = "#9a9a9a"
TITLES = {
    "pca": "Principal components",
    "linear": "Axes that part the classes",
    "umap": "UMAP",
}


def scatter_planes(
    planes: Sequence[Projection],
    classes: Shaped[np.ndarray, " token"],
    order: Sequence[str],
    title: str,
    note: str = "",
    background: str = "other",
) -> Drawing:
    """One set of vectors in one or more planes, a panel per plane: color and mark by class.

    Only vectors that the axes were not found on are drawn where a plane has such. ``background``
    is drawn grey and below all others.
    """
    across = fit_across(len(planes), 2)
    down = -(-len(planes) // across)
    figure, axes = open_panels(0.6 + 3.2 * across, 2.8 * down + 0.6, down, across)
    styles = _styles(order, background)
    for panel, plane in zip(axes.flat, planes, strict=True):
        is_drawn = ~plane.fitted if (~plane.fitted).any() else np.ones_like(plane.fitted)
        _draw(panel, plane, classes, is_drawn, styles)
    headline(figure, title)
    legend(figure, *axes[0, 0].get_legend_handles_labels(), markerscale=1.6)
    assert isinstance(figure, Drawing)
    figure.put_below(note.splitlines())
    return figure


def _styles(order: Sequence[str], background: str) -> dict[str, dict[str, Any]]:
    """Mark, color and order of drawing of every class."""
    styles: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(order):
        grey = name == background
        styles[name] = {
            "marker": "." if grey else MARKS[i % len(MARKS)],
            "facecolor": GREY if grey else HUES[i % len(HUES)],
            "edgecolor": "none" if grey else INK,
            "zorder": 1 if grey else 2,
        }
    return styles


def _draw(
    panel: Any,
    plane: Projection,
    classes: Shaped[np.ndarray, " token"],
    is_drawn: Bool[np.ndarray, " token"],
    styles: Mapping[str, dict[str, Any]],
) -> None:
    for name, style in styles.items():
        points = is_drawn & (classes == name)
        panel.scatter(
            *plane.points[points].T,
            s=14,
            linewidths=0.25,
            alpha=0.8,
            rasterized=True,
            label=name,
            **style,
        )
    shares = [f" ({share:.0%})" if share == share else "" for share in plane.explained]
    panel.set(
        xlabel=plane.axes[0] + shares[0], ylabel=plane.axes[1] + shares[1], xticks=[], yticks=[]
    )
    tidy(panel, TITLES[plane.method], size=PANEL_TITLE)
