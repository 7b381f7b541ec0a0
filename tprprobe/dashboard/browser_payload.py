"""What a browser is sent of a scene: points, their coloring, clusters with names, strips of tokens.

A ``View`` is for notebooks, paper and exports. The dashboard draws the same scene itself
(`app/linked.js`) from these: small numbers in Arrow tables, and in them all that a mark needs, so that tokens are
marked everywhere without asking the server.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.attention import SEEN, SMALL, Maps, read_maps, shrink_map
from tprprobe.dashboard.colourings import CLUSTER, NONE, OTHER, order_values, read_field
from tprprobe.dashboard.maps import name_axes, value_colours
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.strips import LONGEST, read_strips, tell_sample
from tprprobe.dashboard.theme import colours, css, inks, look, shade
from tprprobe.figures.style import palette
from tprprobe.store import Store

GRID = 65_535  # steps of a point's place on either axis


def pack_points(scene: Cloud) -> dict[str, Any]:
    """The points of a scene: places in 2 × 16 bits, clusters, tokens as numbers in a vocabulary, and rows.

    Rows are told as runs: row, sample and position of the first token, and how many follow one another.
    """
    low, high = scene.points.min(0), scene.points.max(0)
    span = np.maximum(high - low, np.finfo(np.float32).tiny)
    grid = np.rint((scene.points - low) / span * GRID).astype(np.uint16)
    codes, words = pd.factorize(scene.tokens["token"])
    narrow = np.uint16 if len(words) <= GRID else np.uint32
    columns = {"x": grid[:, 0], "y": grid[:, 1]}
    columns |= {"cluster": scene.roles.labels.astype(np.uint8), "token": codes.astype(narrow)}
    return {
        "side": scene.side,
        "layers": scene.layers,
        "bounds": [*low.tolist(), *(low + span).tolist()],
        "points": pa.table(columns),
        "runs": pa.table(_runs(scene)),
        "vocabulary": [visible(each) for each in words],
    }


def _runs(scene: Cloud) -> dict[str, np.ndarray]:
    """Tokens of one sample whose rows and positions follow one another."""
    found = {
        "row": scene.rows,
        "sample": scene.tokens["sample"].to_numpy(),
        "position": scene.tokens["position"].to_numpy(),
    }
    steps = {name: np.diff(values) for name, values in found.items()}
    breaks = (steps["row"] != 1) | (steps["sample"] != 0) | (steps["position"] != 1)
    starts = np.concatenate([[0], np.flatnonzero(breaks) + 1])
    counts = np.diff([*starts, len(scene.rows)])
    first = {name: values[starts] for name, values in found.items()}
    return {name: values.astype(np.int32) for name, values in (first | {"count": counts}).items()}


def pack_map(scene: Cloud, field: str = CLUSTER) -> dict[str, Any]:
    """The coloring of a scene's points by a field, a text at the middle of each value, the clusters.

    By cluster no codes are sent: the points have theirs.
    """
    values = read_field(scene, field)
    order = order_values(values)
    shown = value_colours(order)
    points = pd.DataFrame(scene.points, columns=["x", "y"])
    middle = points.groupby(values.to_numpy()).median()
    labels = [
        {"text": each, "x": float(middle["x"][each]), "y": float(middle["y"][each])}
        for each in order
        if each not in (OTHER, NONE)
    ]
    sent = {
        "title": f"{scene.place}, coloured by {field}",
        "axes": name_axes(scene),
        "values": order,
        "colours": [shown[each] for each in order],
        "labels": labels,
        "clusters": _clusters(scene),
    }
    if field == CLUSTER:
        every = colours(scene.roles.k)  # also of a cluster that none of the drawn points is in
        return sent | {"colours": every}
    codes = pd.Categorical(values, order).codes.astype(np.uint8)
    return sent | {"codes": pa.table({"code": codes})}


def _clusters(scene: Cloud) -> list[dict[str, Any]]:
    summary, looks = scene.roles.summary, pack_colours(scene)
    return [
        {"cluster": int(cluster), "tokens": int(size), "top": visible(top, 60)} | looks[cluster]
        for cluster, size, top in zip(
            summary["cluster"], summary["size"], summary["top"], strict=True
        )
    ]


def pack_colours(scene: Cloud) -> list[dict[str, str]]:
    """The color of every cluster, and of a text on it."""
    k = scene.roles.k
    return [
        {"colour": colour, "ink": ink}
        for colour, ink in zip(colours(k), inks(palette(k)), strict=True)
    ]


def pack_names(scene: Cloud) -> list[dict[str, Any]] | None:
    """The name of every cluster, with precision and recall (value, low, high; held out).

    None for data without exact structure; no measures where no name holds.
    """
    if scene.names is None:
        return None
    return [
        {"name": None, "precision": None, "recall": None}
        if each["name"] == UNNAMED
        else {"name": visible(each["name"], 120)}
        | {name: _interval(each, name) for name in ("precision", "recall")}
        for each in scene.names.to_dict("records")
    ]


def _interval(row: dict[Any, Any], name: str) -> list[float | None]:
    """Value, low and high; None for what is not known, as JSON has no NaN."""
    found = [float(row[f"{name}{end}"]) for end in ("", "_low", "_high")]
    return [None if np.isnan(each) else each for each in found]


def pack_strips(
    scene: Cloud, samples: Sequence[int], beside: Cloud | None = None, at: Sequence[int] = ()
) -> dict[str, Any]:
    """Samples as strips: heading, tokens, positions, labels (clusters; −1: none), and what a mark finds
    them by, rows and clusters.

    With ``beside`` and one sample of each, tokens are found by those at the same positions of its sample.

    Raises:
        InputError: none of the samples has tokens on the scene's side.
    """
    tokens, _, _ = read_strips(scene, samples)
    tokens["label"] = tokens["cluster"]
    if beside is not None:
        other = read_strips(beside, at)[0].set_index("position")
        for name in ("row", "cluster"):
            tokens[name] = tokens["position"].map(other[name]).fillna(-1).astype(int)
    strips = [
        {"heading": tell_sample(part.iloc[0], visible), "signs": [*map(visible, part["token"])]}
        | {f"{name}s": part[name].tolist() for name in ("row", "position", "cluster", "label")}
        for _, whole in tokens.groupby("sample")
        for part in [whole.head(LONGEST)]
    ]
    side = (beside or scene).side
    return {"side": side, "colours": pack_colours(scene), "strips": strips}


def pack_tokens(signs: Sequence[str], scene: Cloud | None = None) -> dict[str, Any]:
    """The tokens of one text: signs and, of a scene whose store has the text alone, clusters and their colors."""
    labels = np.full(len(signs), -1)
    if scene is not None:
        found = scene.of([0])[1].labels[: len(signs)]
        labels[: len(found)] = found
    return {
        "signs": [visible(each) for each in signs[:LONGEST]],
        "labels": labels[:LONGEST].tolist(),
        "colours": [] if scene is None else pack_colours(scene),
    }


def pack_heads(store: Store, sites: Mapping[str, str], dark: bool) -> dict[str, Any]:
    """The attention maps of the store's first sample, small: of each site the name that ``sites`` gives it,
    and of each head rows, columns, and weights in 8 bits.
    """
    found = [(name, read_maps(store, site, 0).weights) for site, name in sites.items()]
    return {
        "ramp": look(dark).scale,
        "sites": [
            {"site": name, "maps": [_pack_map(each) for each in maps]} for name, maps in found
        ],
    }


def _pack_map(weights: np.ndarray) -> dict[str, Any]:
    small = shrink_map(weights, -(-max(weights.shape) // SMALL))
    codes = np.rint(255 * np.clip(small, 0, 1)).astype(np.uint8)
    rows, columns = codes.shape
    return {"rows": rows, "columns": columns, "weights": b64encode(codes.tobytes()).decode()}


def pack_rows(
    maps: Maps, head: int, positions: Sequence[int], dark: bool = False
) -> dict[str, Any]:
    """The attention of some queries as strips of keys: each on the color of its weight, its percent below."""
    keys = maps.keys.head(LONGEST)
    signs = [visible(each) for each in keys["token"]]
    shared = {"signs": signs, "rows": keys["row"].tolist(), "positions": [*range(len(keys))]}
    shared |= {"clusters": [-1] * len(keys), "labels": [-1] * len(keys)}
    strips = []
    for at in positions:
        weights = maps.weights[head, at, :LONGEST]
        shades = shade(weights, dark)
        looks = [
            {"colour": css(rgb), "ink": ink} for rgb, ink in zip(shades, inks(shades), strict=True)
        ]
        notes = [f"{100 * each:.0f}" if each >= SEEN else "" for each in weights.tolist()]
        heading = f"from ‘{visible(maps.queries['token'].iloc[at])}’ at {at}"
        told = [f"{100 * each:.1f} % of {heading}" for each in weights.tolist()]
        own = at if maps.is_self else -1
        strips.append(
            shared | {"heading": heading, "looks": looks, "notes": notes, "told": told, "own": own}
        )
    return {"side": maps.key_side, "colours": [], "strips": strips}
