"""Token strips: questions as rows of colored cells, the cluster's number under each token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Bool

from tprprobe.analyses.clustering import Clusters
from tprprobe.dashboard.safe_text import plotted, visible
from tprprobe.dashboard.sampling import Thinned
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.selection import Mark
from tprprobe.dashboard.theme import MONO, NEITHER, colours, dress, inks, look
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures import role_clusters
from tprprobe.figures.style import palette
from tprprobe.store import Store
from tprprobe.store.layout import TWINS

COLUMNS = 46.0  # cells of one character in a line
LONGEST = 600  # tokens of a sample that are drawn
LINE, HEADING = 2.1, 1.0  # heights in cells
ANSWERS = ["prediction"]  # what a model wrote
TWIN = tuple(f"{kind}:" for kind in TWINS)  # how the names of twins begin
PIXELS = 23  # of a cell's height


@dataclass(frozen=True)
class Cells:
    """The cells of tokens: the left edge, width and line of each; ``lines`` in all."""

    left: np.ndarray
    width: np.ndarray
    line: np.ndarray
    lines: int


def lay_out(texts: Sequence[str]) -> Cells:
    """Cells side by side, as wide as their texts, in lines of COLUMNS."""
    widths = np.array([1.0 if len(text) < 2 else 0.7 + 0.45 * len(text) for text in texts])
    left, line, x, number = np.zeros(len(texts)), np.zeros(len(texts), int), 0.0, 0
    for index, width in enumerate(widths):
        if x and x + width > COLUMNS:
            x, number = 0.0, number + 1
        left[index], line[index] = x, number
        x += width
    return Cells(left, widths, line, number + 1)


def show_strips(
    scene: Cloud, samples: Sequence[int], mark: Mark | None = None, dark: bool = False
) -> View:
    """Samples as strips of tokens, colored by cluster; marked tokens framed, the others pale.

    Raises:
        InputError: none of the samples has tokens on the scene's side.
    """
    tokens, part, roles = read_strips(scene, samples)
    tokens["marked"] = find_marked(scene, mark, tokens)
    parts = [each.head(LONGEST) for _, each in tokens.groupby("sample")]
    chart, height = _draw(parts, roles.k, mark is not None, dark)
    title = f"Clusters of {scene.place}"
    shown = tokens["sample"].unique().tolist()
    note = tell_cut(tokens)
    draw = partial(role_clusters, part, roles, samples=shown, gold=True)
    dress(chart, height, dark, drag="select")
    return View(title, chart, draw, tokens, note)


def read_strips(scene: Cloud, samples: Sequence[int]) -> tuple[pd.DataFrame, Thinned, Clusters]:
    """The tokens of some samples with row and cluster, the part of the store, and its clusters.

    Raises:
        InputError: none of the samples has tokens on the scene's side.
    """
    part, roles = scene.of(list(samples))
    rows = part.rows(roles.site)
    tokens = part.tokens_of(roles.site).assign(row=rows, cluster=roles.labels)
    if tokens.empty:
        raise InputError(f"samples {', '.join(map(str, samples))} have no {scene.side} tokens")
    if not _has_answers(scene.store):
        tokens = tokens.drop(columns=ANSWERS, errors="ignore")
    return tokens.reset_index(drop=True), part, roles


def tell_cut(tokens: pd.DataFrame) -> str:
    """A note on samples of which only the first tokens are drawn; empty if all are whole."""
    lengths = tokens["sample"].value_counts(sort=False)
    cut = [str(number) for number in lengths.index[lengths > LONGEST]]
    return f"the first {LONGEST} tokens of sample {', '.join(cut)}" if cut else ""


def _has_answers(store: Store) -> bool:
    """False for a twin, beside whose tokens the answers of the trained model stand."""
    model = store.manifest.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    return "prediction" in store.tokens and not str(name).startswith(TWIN)


def find_marked(
    scene: Cloud, mark: Mark | None, tokens: pd.DataFrame
) -> Bool[np.ndarray, " token"]:
    """The tokens of a table, with row and cluster, that are marked; areas mark what is drawn."""
    if mark is None:
        return np.zeros(len(tokens), bool)
    rows = tokens["row"].to_numpy()
    if mark.kind == "cluster":
        return tokens["cluster"].isin(mark.clusters).to_numpy()
    if mark.kind in ("source", "target"):
        return mark.contains(rows, scene.side)
    return np.isin(rows, scene.rows[mark.find(scene)])


def _draw(
    parts: Sequence[pd.DataFrame], k: int, has_mark: bool, dark: bool
) -> tuple[go.Figure, int]:
    """The chart and its height: one trace of cells, so that a cell's number is its token's."""
    cells, headings, y = [], [], 0.0
    for part in parts:
        texts = [visible(text) for text in part["token"]]
        laid = lay_out(texts)
        headings.append((y + 0.35, tell_sample(part.iloc[0])))
        lines = y + HEADING + laid.line * LINE + 0.5
        cells.append(pd.DataFrame({"left": laid.left, "width": laid.width, "y": lines}))
        y += HEADING + laid.lines * LINE + 0.4
    tokens = pd.concat(parts, ignore_index=True)
    places = pd.concat(cells, ignore_index=True)
    chart = go.Figure([_cells(tokens, places, k, has_mark, dark), _notes(tokens, places, dark)])
    for at, text in headings:
        chart.add_annotation(
            x=0, y=at, text=text, showarrow=False, xanchor="left", font={"color": look(dark).soft}
        )
    chart.update_xaxes(visible=False, range=[-0.1, COLUMNS + 0.1], fixedrange=True)
    chart.update_yaxes(visible=False, range=[y, -0.3], fixedrange=True)
    chart.update_layout(barmode="overlay", bargap=0)
    return chart, round(y * PIXELS) + 30


def tell_sample(first: pd.Series, write: Callable[[object, int], str] = plotted) -> str:
    """The heading of a sample by its first token: what the model answered, and whether it is right.

    ``write`` makes texts of unknown origin safe for where the heading stands.
    """
    text = f"sample {first['sample']}"
    if "prediction" in first:
        answer, told = (write(first[name], 60) for name in ("answer", "prediction"))
        is_right = not str(first["answer"]) or first["correct"]  # without an answer, none is wrong
        sign = "✓" if str(first["answer"]) else ""
        text += f" → {told}  {sign}" if is_right else f" ✗ {told}  (right: {answer})"
    return text


def _cells(
    tokens: pd.DataFrame, places: pd.DataFrame, k: int, has_mark: bool, dark: bool
) -> go.Bar:
    labels, marked = tokens["cluster"].to_numpy(), tokens["marked"].to_numpy()
    shades, texts = [*colours(k), NEITHER], [*inks(palette(k)), "black"]  # −1: not finite
    signs = [plotted(text) for text in tokens["token"]]
    hover = [
        f"‘{sign}’ · token {position} · cluster {label}"
        for sign, position, label in zip(signs, tokens["position"], labels, strict=True)
    ]
    return go.Bar(
        orientation="h",
        base=places["left"],
        x=places["width"],
        y=places["y"],
        width=1.0,
        text=signs,
        textposition="inside",
        insidetextanchor="middle",
        constraintext="none",
        textangle=0,
        hovertext=hover,
        hoverinfo="text",
        textfont={"family": MONO, "size": 14, "color": [texts[label] for label in labels]},
        marker={
            "color": [shades[label] for label in labels],
            "opacity": np.where(marked | (not has_mark), 1.0, 0.3),
            "line": {
                "color": np.where(marked, look(dark).ink, look(dark).page),
                "width": np.where(marked, 2.5, 1),
            },
        },
    )


def _notes(tokens: pd.DataFrame, places: pd.DataFrame, dark: bool) -> go.Scatter:
    return go.Scatter(
        x=places["left"] + places["width"] / 2,
        y=places["y"] + 0.85,
        mode="text",
        text=[str(label) if label >= 0 else "–" for label in tokens["cluster"]],
        textfont={"size": 10, "color": look(dark).soft},
        hoverinfo="skip",
    )
