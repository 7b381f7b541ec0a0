"""Maps: every vector a point in the plane, colored, named in words, marked or not."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Bool

from tprprobe.dashboard.colourings import CLUSTER, NONE, OTHER, order_values, read_field
from tprprobe.dashboard.safe_text import plotted
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.theme import NEITHER, colours, dress, look
from tprprobe.dashboard.view import View
from tprprobe.figures.maps import map_points

HEIGHT = 520
FADED = 0.22


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
    order = order_values(values)
    data = scene.tokens.assign(row=scene.rows, x=scene.points[:, 0], y=scene.points[:, 1])
    data = data.assign(cluster=scene.roles.labels, value=values.to_numpy())
    known = marked if marked is not None and marked.any() else None
    chart = go.Figure(_points(scene, values, order, known is not None))
    if known is not None:
        chart.add_trace(_ringed(scene, values, order, known, dark))
    chart.update_layout(annotations=_labels(scene, values, order, dark))
    names = name_axes(scene)
    for update, name in zip((chart.update_xaxes, chart.update_yaxes), names, strict=True):
        update(title=name, showticklabels=False, ticks="")
    title = f"{scene.place}, coloured by {field}"
    draw = partial(
        map_points, scene.points, values.tolist(), order, title, names, scene.note, known
    )
    return View(title, dress(chart, HEIGHT, dark), draw, pd.DataFrame(data), scene.note)


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


def _points(scene: Cloud, values: pd.Series, order: list[str], pale: bool) -> go.Scattergl:
    """Every token; a point's color is its value's, by its number in the scale."""
    shown = value_colours(order)
    codes = pd.Categorical(values, order).codes.astype(np.int16)
    steps = max(len(order) - 1, 1)
    scale = [[i / steps, shown[name]] for i, name in enumerate(order)]
    texts = scene.tokens["token"].astype(str)
    signs = {each: plotted(each) for each in texts.unique()}
    samples = scene.tokens["sample"].to_numpy()
    labels = scene.roles.labels
    hover = [
        f"‘{signs[text]}’ · sample {sample} · cluster {label}"
        for text, sample, label in zip(texts, samples, labels, strict=True)
    ]
    return go.Scattergl(
        x=scene.points[:, 0],
        y=scene.points[:, 1],
        mode="markers",
        hovertext=hover,
        hoverinfo="text",
        marker={
            "size": 6 if len(codes) < 5000 else 4,
            "opacity": FADED if pale else 0.75,
            "color": codes,
            "cmin": 0,
            "cmax": steps,
            "colorscale": scale if len(scale) > 1 else [[0, scale[0][1]], [1, scale[0][1]]],
        },
    )


def _ringed(
    scene: Cloud, values: pd.Series, order: list[str], marked: np.ndarray, dark: bool
) -> go.Scattergl:
    shown = value_colours(order)
    return go.Scattergl(
        x=scene.points[marked, 0],
        y=scene.points[marked, 1],
        mode="markers",
        hoverinfo="skip",
        marker={
            "size": 8,
            "color": [shown[each] for each in values[marked]],
            "line": {"color": look(dark).ink, "width": 1.2},
        },
    )


def _labels(scene: Cloud, values: pd.Series, order: list[str], dark: bool) -> list[dict]:
    """A text at the middle of each value's points, so that color alone carries nothing."""
    points = pd.DataFrame(scene.points, columns=["x", "y"])
    middle = points.groupby(values.to_numpy()).median()
    colours = look(dark)
    plate = {"bgcolor": colours.plate, "borderpad": 1, "font": {"size": 12, "color": colours.ink}}
    return [
        {"x": middle["x"][each], "y": middle["y"][each], "showarrow": False, **plate}
        | {"text": f"<b>{plotted(each)}</b>"}
        for each in order
        if each not in (OTHER, NONE)
    ]
