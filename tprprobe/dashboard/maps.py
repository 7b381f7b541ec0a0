"""Maps: every vector of a scene a point in the plane, colored by a field of its token, named in words, marked or not.

The browser draws its own (`app/canvas.js`) from Arrow tables, so that tokens are marked without asking the server.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Bool
from matplotlib.colors import to_rgb

from tprprobe.analyses.clustering.clusters import list_tokens
from tprprobe.analyses.naming.fields import CLUSTER, NONE, OTHER, order_values
from tprprobe.analyses.naming.name_counts import select_named
from tprprobe.analyses.projections import choose_view
from tprprobe.analyses.token_maps import Cloud
from tprprobe.dashboard.statements import number
from tprprobe.dashboard.view import View
from tprprobe.figures.cluster_labels import color_clusters
from tprprobe.figures.colors import text_color, value_colors
from tprprobe.figures.theme import NEITHER, write_colors
from tprprobe.store.layout import SAMPLE
from tprprobe.store.token_texts import sign, visible

SPECIAL = "{}: special tokens count as unnamed"
VALUELESS, GREY = (OTHER, NONE), to_rgb(NEITHER)
GRID = 65_535  # steps of a point's place on either axis
RUN = ("row", "sample", "position")  # of the first of tokens that follow one another


def show_map(
    scene: Cloud, field: str = CLUSTER, marked: Bool[np.ndarray, " token"] | None = None
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
    from tprprobe.figures.maps import Points

    values, colors = scene.read_field(field), color_values(scene, field)
    shown = list_shown(colors, values)
    names = name_clusters(scene) if field == CLUSTER else {}
    texts = {name: f"{name}: {names[name]}" if name in names else name for name in shown}
    data = scene.tokens.assign(row=scene.rows, x=scene.points[:, 0], y=scene.points[:, 1])
    data = data.assign(cluster=scene.roles.labels, value=values.map(texts).to_numpy())
    data["marked"] = False if marked is None else marked
    marked = marked if marked is not None and marked.any() else None
    signs = [name for name in shown if name not in VALUELESS]
    look = (name_axes(scene), marked, [colors[name] for name in signs], signs)
    points = Points(scene.points, data["value"].tolist(), [*texts.values()], *look)
    return View(f"{scene.place}, colored by {field}", data, points, scene.note)


def color_values(scene: Cloud, field: str) -> dict[str, tuple[float, ...]]:
    """The values of a field in order, each with its color, which it keeps in every slice; clusters have theirs."""
    if field == CLUSTER:
        return {str(n): color for n, color in enumerate(color_clusters(scene.roles))}
    order = order_values((scene.whole or scene).read_field(field))
    named = [name for name in order if name not in VALUELESS]
    return dict.fromkeys(order, GREY) | dict(zip(named, value_colors(named), strict=True))


def list_shown(colors: Mapping[str, Any], values: pd.Series) -> list[str]:
    """The values that some token has, in the order of their colors."""
    present = {*values}
    return [name for name in colors if name in present]


def name_clusters(scene: Cloud) -> dict[str, str]:
    """The names of the clusters that have one, by number."""
    if (names := (scene.whole or scene).names) is None:
        return {}
    rows = select_named(names)
    return {str(row["cluster"]): visible(row["name"], 120) for row in rows.to_dict("records")}


def name_axes(scene: Cloud) -> list[str]:
    """What the two axes of a scene's map are, with the share that each explains (of PCA: of standardized dimensions)."""
    measure = " of standardized variance" * (scene.plane.method == "pca")
    shares = zip(scene.plane.axes, scene.plane.explained, strict=True)
    return [name if np.isnan(share) else f"{name} ({share:.0%}{measure})" for name, share in shares]


def pack_map(scene: Cloud, field: str = CLUSTER) -> dict[str, Any]:
    """The coloring of a scene's points by a field (by cluster no codes: points have theirs), a text at each value's middle, the clusters."""
    values, colors = scene.read_field(field), color_values(scene, field)
    order = list_shown(colors, values)
    named = [name for name in order if name not in VALUELESS]
    middle = pd.DataFrame(scene.points, columns=["x", "y"]).groupby(values.to_numpy()).median()
    labels = middle.reindex(named).rename_axis("text").reset_index()
    labels = labels.astype({"x": float, "y": float}).to_dict("records")
    packed = {"title": f"{scene.place}, colored by {field}", "axes": name_axes(scene)}
    unit = "samples" if scene.side == SAMPLE else "tokens"
    is_slice = len(scene.tokens) < scene.roles.summary["size"].sum()  # clusters are of all
    packed |= {"unit": unit, "commonest": f"commonest {'of all ' * bool(is_slice)}{unit}"}
    packed |= {"values": order, "labels": labels, "clusters": _pack_clusters(scene, field)}
    if field == CLUSTER:  # also of a cluster that none of the drawn points is in
        return packed | {"colors": write_colors([*color_clusters(scene.roles)])}
    codes = pd.Categorical(values, order).codes.astype(np.uint8)
    packed |= {"colors": write_colors([colors[name] for name in order])}
    return packed | {"codes": pa.table({"code": codes})}


def _pack_clusters(scene: Cloud, field: str) -> list[dict[str, Any]]:
    """A row a cluster; gray where colors are those of values."""
    rows = scene.roles.summary[["cluster", "size", "top"]]
    colors = color_clusters(scene.roles) if field == CLUSTER else [GREY] * scene.roles.k
    tokens = [visible(list_tokens(top), 60) for top in rows["top"]]
    records = rows.assign(top=tokens).rename(columns={"size": "tokens"}).to_dict("records")
    looks = pack_looks(colors)
    return [record | looks[record["cluster"]] for record in records]


def pack_looks(colors: Sequence[tuple[float, ...]]) -> list[dict[str, str]]:
    """Colors, and those of texts on them."""
    looks = zip(write_colors([*colors]), map(text_color, colors), strict=True)
    return [{"color": color, "ink": ink} for color, ink in looks]


def pack_points(scene: Cloud) -> dict[str, Any]:
    """The points of a scene: places in 2 × 16 bits, clusters, tokens as numbers in a vocabulary, and runs of tokens in a row."""
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
        "bounds": [*low.tolist(), *(low + span).tolist()],
        "view": choose_view(grid / GRID),
        "points": pa.table(columns),
        "runs": pa.table(runs),
        "vocabulary": [sign(word) for word in words],
    }


def pack_names(scene: Cloud) -> list[dict[str, Any]] | None:
    """The name of every cluster with precision and recall, or what its strongest candidate ``lacks``; None for data without names."""
    if scene.names is None:
        return None
    named = name_clusters(scene)
    return [
        {"name": named[number_text]}
        | {name: [f"{row[name]:.2f}", number(row, name, ".2f")] for name in ("precision", "recall")}
        if (number_text := str(row["cluster"])) in named
        else {"lacks": visible(row["unnamed_because"] or SPECIAL.format(row["name"]), 120)}
        for row in scene.names.sort_values("cluster").to_dict("records")
    ]
