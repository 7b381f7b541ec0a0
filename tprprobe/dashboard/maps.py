"""Maps: every vector a point in the plane, colored, named in words, marked or not; the browser draws its own
(`app/linked.js`), paper and notebooks :func:`tprprobe.figures.map_points`.
"""

from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Bool

from tprprobe.dashboard.colourings import CLUSTER, NONE, OTHER, order_values, read_field
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.theme import NEITHER, colours
from tprprobe.dashboard.view import View
from tprprobe.figures.maps import map_points


def show_map(
    scene: Cloud,
    field: str = CLUSTER,
    marked: Bool[np.ndarray, " token"] | None = None,
    dark: bool = False,
) -> View:
    """The map of a scene: a point per token, a color and a text label per value of the field.

    Marked tokens are ringed, the others pale.
    """
    values = read_field(scene, field)
    data = scene.tokens.assign(row=scene.rows, x=scene.points[:, 0], y=scene.points[:, 1])
    data = data.assign(cluster=scene.roles.labels, value=values.to_numpy())
    known = marked if marked is not None and marked.any() else None
    title = f"{scene.place}, coloured by {field}"
    draw = partial(
        map_points,
        scene.points,
        values.tolist(),
        order_values(values),
        title,
        name_axes(scene),
        scene.note,
        known,
    )
    return View(title, draw, pd.DataFrame(data), scene.note)


def name_axes(scene: Cloud) -> list[str]:
    """What the two axes of a scene's map are, with the share that each explains."""
    plane = scene.plane
    return [
        name if np.isnan(share) else f"{name} ({share:.0%})"
        for name, share in zip(plane.axes, plane.explained, strict=True)
    ]


def value_colours(order: list[str]) -> dict[str, str]:
    """The color of every value; missing values are gray."""
    found = dict(zip(order, colours(len(order)), strict=True))
    return found | {each: NEITHER for each in (OTHER, NONE) if each in found}
