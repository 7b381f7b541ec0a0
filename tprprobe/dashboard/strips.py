"""Token strips: samples as rows of tokens on the color of their cluster; the browser draws its own (`app/canvas.js`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.fields import CLUSTER, NONE
from tprprobe.analyses.slices import find_slice
from tprprobe.analyses.token_maps import Cloud
from tprprobe.dashboard.comparison import align_tokens
from tprprobe.dashboard.contents import list_contents
from tprprobe.dashboard.maps import GREY, color_values, list_shown, pack_looks, pack_names
from tprprobe.dashboard.marks import ROW_KINDS, Mark
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.store.samples import Thinned
from tprprobe.store.token_texts import sign, visible

MAX_TOKENS = 600  # of a sample that a page draws
DIMMED = 0.45  # the opacity of tokens outside a slice, as in canvas.css
ANSWERS = ["prediction", "correct"]  # what a model wrote


def show_strips(
    scene: Cloud,
    samples: Sequence[int],
    mark: Mark | None = None,
    field: str = CLUSTER,
    where: str = "",
) -> View:
    """The view of samples as strips of tokens, colored by cluster or by another field.

    Args:
        scene: The scene.
        samples: The numbers of the samples.
        mark: The tokens that are marked; default: none.
        field: The field of tokens: ``cluster``, or a column.
        where: A slice: the other tokens are dimmed.

    Returns:
        The view; ``marked`` and ``outside`` (the slice) are columns of its data.

    Raises:
        InputError: None of the samples has tokens on the scene's side.

    Examples:
        >>> scene = tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3)
        >>> tp.dashboard.show_strips(scene, [0]).data["sample"].unique().tolist()
        [0]
    """
    from tprprobe.figures.cluster_labels import label_named
    from tprprobe.figures.clusters import cluster_strips
    from tprprobe.figures.strips import Strip, Strips

    tokens, part, roles = read_strips(scene, samples, where)
    tokens["marked"] = mark is not None and tokens["cluster"].isin(mark.clusters)
    if mark is not None and mark.kind in ROW_KINDS:
        tokens["marked"] = mark.contains(tokens["row"].to_numpy(), scene.side)
    elif mark is not None and mark.kind != "cluster":  # areas mark what is drawn
        tokens["marked"] = tokens["row"].isin(scene.rows[mark.find(scene)])
    drawn = tokens["sample"].unique().tolist()
    title = f"{scene.place}, colored by {field}"
    if field == CLUSTER:
        names = {} if scene.names is None else label_named(scene.names)
        picture = cluster_strips(part, roles, samples=drawn, gold=True, names=names)
        return View(title, tokens, _dim(picture, tokens, where))
    tokens["value"], colors = read_values(scene, field, tokens), color_values(scene, field)
    strips = []
    for _, rows in tokens.groupby("sample"):
        shades = [colors.get(value, GREY) for value in rows["value"]]
        heading = summarize_sample(rows.iloc[0])
        strips += [Strip(rows["token"].tolist(), shades, [""] * len(rows), heading)]
    shown = list_shown(colors, tokens["value"])
    key: list[Any] = [(colors[value], f": {value}") for value in shown]
    return View(title, tokens, _dim(Strips(strips, key, title=title), tokens, where))


def _dim(picture: Any, tokens: pd.DataFrame, where: str) -> Any:
    """The strips with the colors of tokens outside the slice as pale as on a page."""
    strips = []
    for strip, (_, rows) in zip(picture.strips, tokens.groupby("sample", sort=False), strict=True):
        opacity = np.where(rows["outside"], DIMMED, 1)[:, None]
        colors = 1 - opacity * (1 - np.array(strip.colors))
        strips.append(replace(strip, colors=[*map(tuple, colors.tolist())]))
    notes = filter(None, [picture.note, where and f"pale: not {where}"])
    return replace(picture, strips=strips, note=" · ".join(notes))


def read_values(scene: Cloud, field: str, tokens: pd.DataFrame) -> pd.Series:
    """The values of a field of some tokens, empty for those that the scene does not draw."""
    if field == CLUSTER:
        return tokens["cluster"].astype(str).replace("-1", NONE)
    values = pd.Series(scene.read_field(field).to_numpy(), scene.rows)
    return values.reindex(tokens["row"]).fillna("").reset_index(drop=True)


def read_strips(
    scene: Cloud, samples: Sequence[int], where: str = ""
) -> tuple[pd.DataFrame, Thinned, Clusters]:
    """The tokens of some samples with row, cluster and whether they are outside a slice, the part of the store, and its clusters."""
    part, roles = scene.of(list(samples))
    tokens = part.tokens_of(roles.site).assign(row=part.rows(roles.site), cluster=roles.labels)
    if tokens.empty:
        raise InputError(f"samples {', '.join(map(str, samples))} have no {scene.side} tokens")
    if list_contents(scene.store).score is None:  # what was written is compared with nothing
        tokens = tokens.drop(columns=ANSWERS[scene.store.has_answers :], errors="ignore")
    tokens["outside"] = bool(where) and ~find_slice(scene.store, scene.side, where)[tokens["row"]]
    return tokens.reset_index(drop=True), part, roles


def summarize_sample(token: pd.Series) -> str:
    """The heading of a sample by one of its tokens: what the model wrote, and whether it is right, where that is known."""
    text = f"sample {token['sample']}"
    if "prediction" not in token:
        return text
    answer, output = (visible(token.get(name, ""), 60) for name in ("answer", "prediction"))
    if "correct" not in token:
        return f"{text} → {output}" if token["prediction"] else text
    return f"{text} → {output}  ✓" if token["correct"] else f"{text} ✗ {output}  (right: {answer})"


def pack_strips(
    scene: Cloud,
    samples: Sequence[int],
    pair: Cloud | None = None,
    pair_samples: Sequence[int] = (),
    where: str = "",
    field: str = CLUSTER,
) -> dict[str, object]:
    """Samples as strips: heading, tokens, positions, labels (of their colors; −1: none) and texts below them, clusters or
    values of a field, and what a mark finds them by, rows and clusters; tokens that do not meet ``where`` are outside.

    With ``pair`` and one sample of each, tokens are found by those of its sample, see :func:`align_tokens`.
    """
    tokens, _, _ = read_strips(scene, samples, where)
    colors, tokens["text"] = color_values(pair or scene, field), read_values(scene, field, tokens)
    tokens["label"] = pd.Categorical(tokens["text"], [*colors]).codes
    names = pack_names(scene) if field == CLUSTER else None
    looks = {"colors": pack_looks([*colors.values()]), "names": names}
    if pair is not None:
        pair_tokens = read_strips(pair, pair_samples)[0].assign(second=0)
        joined = align_tokens(tokens.assign(second=0), pair_tokens)
        places = joined.rename(columns={"position_x": "position"}).set_index("position")
        for name in ("row", "cluster"):
            tokens[name] = tokens["position"].map(places[f"{name}_y"]).fillna(-1).astype(int)
    names = ("row", "position", "cluster", "label", "text", "outside")
    strips = [
        {
            "heading": summarize_sample(strip.iloc[0])
            + f" (the first {MAX_TOKENS} of {len(strip):,} tokens)" * (len(strip) > MAX_TOKENS)
        }
        | {"signs": [*map(sign, strip["token"][:MAX_TOKENS])]}
        | {f"{name}s": strip[name][:MAX_TOKENS].tolist() for name in names}
        for _, strip in tokens.groupby("sample")
    ]
    return {"side": (pair or scene).side, "field": field, "strips": strips} | looks
