"""Unbinding vectors in the plane by what they generate: huang's Figures 3 to 7."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from tprprobe.analyses.projections import Projection
from tprprobe.figures.colors import palette
from tprprobe.figures.maps import GREY, Points
from tprprobe.figures.scenes import Grid

TITLES = {
    "pca": "Principal components",
    "linear": "Axes that part the classes",
    "umap": "UMAP",
}


def scatter_planes(
    planes: Sequence[Projection],
    classes: Shaped[np.ndarray, " token"],
    words: Shaped[np.ndarray, " token"],
    labels: Mapping[str, str],
    title: str,
    note: str = "",
) -> Grid:
    """One set of vectors in one or more planes, a panel per plane, a color per class of ``labels``, their texts in the legend; the last is gray.

    Only vectors that the axes were not found on are drawn where a plane has such.
    """
    pictures, colors = [], [*palette(len(labels) - 1), GREY]
    for plane in planes:
        is_drawn = ~plane.fitted if (~plane.fitted).any() else np.ones_like(plane.fitted)
        shares = [f" ({share:.0%})" if share == share else "" for share in plane.explained]
        axes = [axis + share for axis, share in zip(plane.axes, shares, strict=True)]
        points = plane.points[is_drawn]
        marks = pd.DataFrame({"value": classes, "word": words})[is_drawn]
        values = [labels[name] for name in marks["value"]]
        look: Any = {"colors": colors, "title": TITLES[plane.method], "marks": marks}
        pictures.append(Points(points, values, [*labels.values()], axes, **look))
    return Grid(pictures, 2, title=title, note=note)
