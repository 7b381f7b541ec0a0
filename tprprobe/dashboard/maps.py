"""Maps: every vector of a scene a point in the plane, colored by a field of its token, named in words, marked or not.

The browser draws its own (`app/canvas.js`) from small numbers in Arrow tables, which hold all that a mark needs, so that tokens
are marked without asking the server; paper and notebooks have :func:`tprprobe.figures.map_points`.
"""

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Bool

from tprprobe.analyses.naming.fields import CLUSTER, NONE, OTHER, order_values
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.projections import choose_view
from tprprobe.analyses.token_maps import Cloud
from tprprobe.dashboard.theme import NEITHER, colors
from tprprobe.dashboard.view import View
from tprprobe.figures import map_points
from tprprobe.figures.style import palette, text_color
from tprprobe.statistics import read_interval
from tprprobe.store.layout import SAMPLE
from tprprobe.store.token_texts import sign, visible

LAYER = "layer"  # of the same tokens in all layers: a map of its own
GRID = 65_535  # steps of a point's place on either axis
SHARES = re.compile(r"\S+(?= \d+%)")  # tokens of a cluster's summary
RUN = ("row", "sample", "position")  # of the first of tokens that follow one another


def show_map(
    scene: Cloud,
    field: str = CLUSTER,
    marked: Bool[np.ndarray, " token"] | None = None,
) -> View:
    """The view of a scene as a map: a point per token, a color and a label per value of a field.

    Args:
        scene: The scene.
        field: The field of tokens: ``cluster``, or a column.
        marked: Which tokens are ringed, all others pale; default: none.

    Returns:
        The view.

    Examples:
        >>> scene = tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3)
        >>> len(tp.dashboard.show_map(scene).data) == len(scene.rows)
        True
    """
    values = scene.read_field(field)
    data = scene.tokens.assign(row=scene.rows, x=scene.points[:, 0], y=scene.points[:, 1])
    data = data.assign(cluster=scene.roles.labels, value=values.to_numpy())
    known = marked if marked is not None and marked.any() else None
    title = f"{scene.place}, colored by {field}"
    drawn = (scene.points, values.tolist(), order_values(values), title, name_axes(scene))
    return View(title, data, None, partial(map_points, *drawn, scene.note, known), scene.note)


def name_axes(scene: Cloud) -> list[str]:
    """What the two axes of a scene's map are, with the share that each explains."""
    shares = zip(scene.plane.axes, scene.plane.explained, strict=True)
    return [name if np.isnan(share) else f"{name} ({share:.0%})" for name, share in shares]


def pack_map(scene: Cloud, field: str = CLUSTER) -> dict[str, Any]:
    """The coloring of a scene's points by a field, a text at the middle of each value, the clusters.

    By cluster no codes are sent: the points have theirs.
    """
    values = scene.read_field(field)
    order = order_values(values)
    middle = pd.DataFrame(scene.points, columns=["x", "y"]).groupby(values.to_numpy()).median()
    named = middle.reindex([each for each in order if each not in (OTHER, NONE)])
    labels = named.rename_axis("text").reset_index().astype({"x": float, "y": float})
    sent = {"title": f"{scene.place}, colored by {field}", "axes": name_axes(scene)}
    sent |= {"unit": "samples" if scene.side == SAMPLE else "tokens"}
    sent |= {"values": order, "labels": labels.to_dict("records"), "clusters": _clusters(scene)}
    if field == CLUSTER:  # also of a cluster that none of the drawn points is in
        return sent | {"colors": colors(scene.roles.k)}
    shades = dict(zip(order, colors(len(order)), strict=True)) | {OTHER: NEITHER, NONE: NEITHER}
    codes = pd.Categorical(values, order).codes.astype(np.uint8)
    return sent | {"colors": [shades[each] for each in order], "codes": pa.table({"code": codes})}


def _clusters(scene: Cloud) -> list[dict[str, Any]]:
    looks, rows = pack_colors(scene), scene.roles.summary[["cluster", "size", "top"]]
    tops = [visible(SHARES.sub(lambda each: sign(each[0]), top), 60) for top in rows["top"]]
    sent = rows.assign(top=tops).rename(columns={"size": "tokens"}).to_dict("records")
    return [each | looks[each["cluster"]] for each in sent]


def pack_colors(scene: Cloud) -> list[dict[str, str]]:
    """The color of every cluster, and of a text on it."""
    shades = zip(colors(scene.roles.k), map(text_color, palette(scene.roles.k)), strict=True)
    return [{"color": color, "ink": ink} for color, ink in shades]


def pack_points(scene: Cloud) -> dict[str, Any]:
    """The points of a scene: places in 2 × 16 bits, clusters, tokens as numbers in a vocabulary, and runs of tokens that
    follow one another: row, sample and position of the first, and their count.
    """
    low, high = scene.points.min(0), scene.points.max(0)
    span = np.maximum(high - low, np.finfo(np.float32).tiny)
    grid = np.rint((scene.points - low) / span * GRID).astype(np.uint16)
    codes, words = pd.factorize(scene.tokens["token"])
    columns = {"x": grid[:, 0], "y": grid[:, 1], "cluster": scene.roles.labels.astype(np.uint8)}
    columns |= {"token": codes.astype(np.uint16 if len(words) <= GRID else np.uint32)}
    places = np.stack([scene.rows, scene.tokens["sample"], scene.tokens["position"]], 1)
    starts = np.flatnonzero(np.r_[True, (np.diff(places, axis=0) != [1, 0, 1]).any(1)])
    runs: dict[str, Any] = dict(zip(RUN, places[starts].T.astype(np.int32), strict=True))
    runs |= {"count": np.diff(starts, append=len(places)).astype(np.int32)}
    return {
        "side": scene.side,
        "layers": scene.layers,
        "bounds": [*low.tolist(), *(low + span).tolist()],
        "view": choose_view(grid / GRID),
        "points": pa.table(columns),
        "runs": pa.table(runs),
        "vocabulary": [sign(each) for each in words],
    }


def pack_names(scene: Cloud) -> list[dict[str, Any]] | None:
    """The name of every cluster, with precision and recall (value, low, high; held out).

    None for data without names; no measures where no name holds.
    """
    if scene.names is None:
        return None
    sent: list[dict[str, Any]] = [dict.fromkeys(("name", "precision", "recall")) for _ in range(scene.roles.k)]  # fmt: skip
    for row in scene.names[scene.names["name"] != UNNAMED].to_dict("records"):
        found = sent[row["cluster"]]
        found["name"] = visible(row["name"], 120)
        for each in ("precision", "recall"):  # None for what is not known, as JSON has no NaN
            ends = read_interval(row, each)
            known = (ends.value, ends.low, ends.high)
            found[each] = [None if np.isnan(end) else float(end) for end in known]
    return sent
