"""Attention of one sample: a head's map with gold structure and clusters, its rows, all heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int
from plotly.subplots import make_subplots

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.attention.relations import DIVISION, Relation
from tprprobe.dashboard.safe_text import plotted, visible
from tprprobe.dashboard.strips import COLUMNS, LINE, PIXELS, lay_out
from tprprobe.dashboard.theme import MONO, colours, css, dress, inks, look, shade
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures import attention_grid, attention_matrix, attention_rows
from tprprobe.figures.strips import SIGNS as SHORT
from tprprobe.figures.style import palette
from tprprobe.site.patterns import layer_of, side_of
from tprprobe.store import Store

CELLS = 400  # rows and columns of a map that are drawn; larger ones by their largest weights
NAMED, TICKS = 90, 24  # single characters, words that are written along an axis
BESIDE = -2.6  # where a map with the tokens beside it begins
SMALL = 48  # rows and columns of a map in the grid
PERCENT = "Below a token: its percent of the query's weight, from 5 on. Framed: the query itself."
SEEN = 0.05  # the least weight that is written


@dataclass(frozen=True, eq=False)
class Maps:
    """The maps of a site and a sample: weights, and the tokens of queries and of keys."""

    site: str
    sample: int
    weights: Float[np.ndarray, "head query key"]
    queries: pd.DataFrame
    keys: pd.DataFrame

    @property
    def side(self) -> str:
        """The side whose tokens the queries are."""
        return side_of(self.site)

    @property
    def key_side(self) -> str:
        """The side whose tokens the keys are."""
        return str(self.keys["side"].iloc[0])

    @property
    def is_self(self) -> bool:
        return self.queries.equals(self.keys)


def read_maps(store: Store, site: str, sample: int) -> Maps:
    """The attention maps of one sample, with its tokens and their rows in the store.

    Raises:
        InputError: no such site, no maps of that sample, or no tokens in it.
    """
    weights = store.attention(site, sample)
    sides = store.specs[store.select(site)[0]].rows.split("_")
    queries, keys = (_tokens(store, sample, side) for side in sides)
    if not weights.size:
        raise InputError(f"sample {sample} has no tokens to attend to: choose another")
    weights = np.nan_to_num(weights.astype(np.float32))
    return Maps(store.select(site)[0], sample, weights, queries, keys)


def _tokens(store: Store, sample: int, side: str) -> pd.DataFrame:
    tokens = store.tokens
    of_side = tokens.loc[tokens["side"] == side, "sample"].to_numpy()
    rows = slice(*np.searchsorted(of_side, [sample, sample + 1]))
    chosen = tokens.loc[(tokens["side"] == side) & (tokens["sample"] == sample)]
    return chosen.reset_index(drop=True).assign(row=np.arange(rows.start, rows.stop))


def gold_pairs(store: Store, sample: int, relation: Relation = DIVISION) -> list[tuple[int, int]]:
    """Related digits with their operator, as positions (query, key)."""
    gold = gold_tokens(store, [sample])
    if gold is None:
        return []
    targets = relation.net.targets(gold)
    related = np.flatnonzero(targets >= 0)
    return list(zip(related.tolist(), targets[related].tolist(), strict=True))


def show_matrix(
    store: Store,
    maps: Maps,
    head: int,
    clusters: Int[np.ndarray, " token"] | None = None,
    marked: Bool[np.ndarray, " token"] | None = None,
    dark: bool = False,
) -> View:
    """The whole map of a head; gold relations are circled, each token's cluster lies beside it.

    ``clusters`` and ``marked`` are of the queries, of self-attention also of the keys. The tokens
    along the axes can be selected.
    """
    weights = _head(maps, head)
    step = -(-max(weights.shape) // CELLS)
    drawn = shrink_map(weights, step)
    chart = go.Figure()
    for axis, tokens in (("query", maps.queries), ("key", maps.keys)):
        known = axis == "query" or maps.is_self
        given = (clusters, marked) if known else (None, None)
        chart.add_trace(_handles(tokens, axis, *given, dark))
    chart.add_trace(_heat(drawn, maps, step, dark))
    pairs = gold_pairs(store, maps.sample) if maps.is_self else []
    if pairs:
        chart.add_trace(_circles(pairs, dark))
    side = min(760, 120 + 15 * max(len(maps.queries), 24))
    chart.update_xaxes(
        title="key (attended to)", ticks="", constrain="domain", tickangle=-90,
        range=[BESIDE, len(maps.keys) - 0.5], **_name_ticks(maps.keys),
    )  # fmt: skip
    chart.update_yaxes(
        title="query (attends)", ticks="", constrain="domain", constraintoward="top",
        scaleanchor="x" if maps.is_self else None,
        range=[len(maps.queries) - 0.5, BESIDE], **_name_ticks(maps.queries),
    )  # fmt: skip
    title = f"{maps.site}, head {head}, sample {maps.sample}"
    notes = [f"○ gold: a {DIVISION.related}'s digit and its ‘{DIVISION.operator}’"] if pairs else []
    notes += [f"each cell is the largest of {step} × {step} weights"] if step > 1 else []
    draw = partial(attention_matrix, store, maps.site, maps.sample, head)
    return View(
        title, dress(chart, side, dark, "select"), draw, _table(maps, weights), " · ".join(notes)
    )


def _is_spelt(tokens: pd.DataFrame) -> bool:
    """True if tokens are single characters, which are written on their squares."""
    return len(tokens) <= NAMED and all(len(sign) <= 1 for sign in _shorten(tokens))


def _shorten(tokens: pd.DataFrame) -> list[str]:
    return [visible(SHORT.get(each) or each) for each in tokens["token"].astype(str)]


def _name_ticks(tokens: pd.DataFrame) -> dict[str, Any]:
    """Words along an axis, so many that they can be read; none of tokens that are spelt on their squares."""
    if _is_spelt(tokens):
        return {"showticklabels": False}
    at = list(range(0, len(tokens), -(-len(tokens) // TICKS)))
    texts = [plotted(tokens["token"].iloc[i], 12) for i in at]
    return {"tickvals": at, "ticktext": texts, "tickfont": {"family": MONO, "size": 10}}


def _head(maps: Maps, head: int) -> Float[np.ndarray, "query key"]:
    if not 0 <= head < len(maps.weights):
        raise InputError(f"{maps.site} has no head {head}: it has 0 to {len(maps.weights) - 1}")
    return maps.weights[head]


def shrink_map(weights: Float[np.ndarray, "query key"], step: int) -> Float[np.ndarray, "y x"]:
    """The largest weight of every block of step × step."""
    if step == 1:
        return weights
    queries, keys = (-(-n // step) * step for n in weights.shape)
    padded = np.zeros((queries, keys), weights.dtype)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    return padded.reshape(queries // step, step, keys // step, step).max((1, 3))


def _heat(drawn: np.ndarray, maps: Maps, step: int, dark: bool) -> go.Heatmap:
    queries, keys = ([plotted(each) for each in t["token"]] for t in (maps.queries, maps.keys))
    hover = None
    if step == 1 and drawn.size <= 40_000:
        hover = [
            [f"‘{q}’ {i} → ‘{k}’ {j}" for j, k in enumerate(keys)] for i, q in enumerate(queries)
        ]
    return go.Heatmap(
        z=drawn,
        x0=(step - 1) / 2,
        dx=step,
        y0=(step - 1) / 2,
        dy=step,
        zmin=0,
        zmax=1,
        colorscale=look(dark).scale,
        text=hover,
        hovertemplate="%{text}: %{z:.0%}<extra></extra>" if hover else "%{z:.0%}<extra></extra>",
        colorbar={"thickness": 10, "tickformat": ".0%", "len": 0.5, "title": "weight"},
    )


def _handles(
    tokens: pd.DataFrame,
    axis: str,
    clusters: Int[np.ndarray, " token"] | None,
    marked: Bool[np.ndarray, " token"] | None,
    dark: bool,
) -> go.Scatter:
    """The tokens along an axis, on squares of their cluster's color."""
    n = len(tokens)
    along, beside = np.arange(n), np.full(n, -1.6)
    labels = np.full(n, -1) if clusters is None else clusters
    k = max(int(labels.max(initial=0)) + 1, 1)
    shades, letters = [*colours(k), "rgba(0,0,0,0)"], [*inks(palette(k)), look(dark).ink]
    known = np.zeros(n, bool) if marked is None else marked
    is_spelt, signs = _is_spelt(tokens), [plotted(each, 3) for each in _shorten(tokens)]
    whole = [plotted(each) for each in tokens["token"]]
    told = [f" · cluster {label}" if label >= 0 else "" for label in labels]
    return go.Scatter(
        x=beside if axis == "query" else along,
        y=along if axis == "query" else beside,
        mode="markers+text" if is_spelt else "markers",
        text=signs,
        hovertext=[
            f"{axis} {i} ‘{sign}’{each}"
            for i, (sign, each) in enumerate(zip(whole, told, strict=True))
        ],
        hoverinfo="text",
        textfont={"family": MONO, "size": 11, "color": [letters[label] for label in labels]},
        marker={
            "symbol": "square",
            "size": 14 if is_spelt else 8 if n <= NAMED else 5,
            "color": [shades[label] for label in labels],
            "line": {"color": look(dark).ink, "width": np.where(known, 2.5, 0)},
        },
    )


def _circles(pairs: Sequence[tuple[int, int]], dark: bool) -> go.Scatter:
    queries, keys = zip(*pairs, strict=True)
    marker = {"symbol": "circle-open", "size": 13, "color": "#D55E00", "line": {"width": 2}}
    return go.Scatter(x=keys, y=queries, mode="markers", marker=marker, hoverinfo="skip")


def _table(maps: Maps, weights: Float[np.ndarray, "query key"]) -> pd.DataFrame:
    query, key = (part.ravel() for part in np.indices(weights.shape))
    return pd.DataFrame({"query": query, "key": key, "weight": weights.ravel()})


def show_rows(
    store: Store, maps: Maps, head: int, positions: Sequence[int], dark: bool = False
) -> View:
    """The attention of some queries: a strip of keys each, darker for more, in percent below.

    Raises:
        InputError: no such query.
    """
    weights = _head(maps, head)
    if bad := [each for each in positions if not 0 <= each < len(weights)]:
        raise InputError(f"no query {bad[0]}: sample {maps.sample} has 0 to {len(weights) - 1}")
    texts = [visible(each) for each in maps.keys["token"]]
    laid = lay_out(texts)
    chart, y = go.Figure(), 0.0
    for position in positions:
        token = plotted(maps.queries["token"].iloc[position])
        chart.add_annotation(
            x=0, y=y + 0.35, text=f"from ‘{token}’ at {position}", showarrow=False, xanchor="left",
            font={"color": look(dark).soft},
        )  # fmt: skip
        own = position if maps.is_self else -1
        for trace in _weighted(texts, laid, weights[position], y + 1.5, own, dark):
            chart.add_trace(trace)
        y += 1.4 + laid.lines * LINE
    chart.update_xaxes(visible=False, range=[-0.1, COLUMNS + 0.1], fixedrange=True)
    chart.update_yaxes(visible=False, range=[y, -0.3], fixedrange=True)
    chart.update_layout(barmode="overlay", bargap=0)
    dress(chart, round(y * PIXELS) + 30, dark, "select")
    title = f"{maps.site}, head {head}, sample {maps.sample}: rows"
    draw = partial(attention_rows, store, maps.site, maps.sample, head, list(positions))
    table = _table(maps, weights)
    shown = table[table["query"].isin(positions)].reset_index(drop=True)
    return View(title, chart, draw, shown, PERCENT)


def _weighted(
    texts: Sequence[str], laid, weights: np.ndarray, top: float, own: int, dark: bool
) -> list[go.Bar | go.Scatter]:
    rgb = shade(weights, dark)
    shades = [css(each) for each in rgb]
    own_line = np.arange(len(texts)) == own
    cells = go.Bar(
        orientation="h", base=laid.left, x=laid.width, y=top + laid.line * LINE, width=1.0,
        text=[plotted(each) for each in texts], textposition="inside", insidetextanchor="middle",
        constraintext="none", textangle=0,
        hovertext=[f"{weight:.1%}" for weight in weights], hoverinfo="text",
        textfont={"family": MONO, "size": 14, "color": inks(rgb)},
        marker={
            "color": shades,
            "line": {"color": np.where(own_line, "#D55E00", look(dark).faint), "width": np.where(own_line, 2.5, 1)},
        },
    )  # fmt: skip
    notes = go.Scatter(
        x=laid.left + laid.width / 2, y=top + laid.line * LINE + 0.85, mode="text",
        text=[f"{weight:.0%}"[:-1] if weight >= SEEN else "" for weight in weights],
        textfont={"size": 10, "color": look(dark).soft}, hoverinfo="skip",
    )  # fmt: skip
    return [cells, notes]


def show_grid(store: Store, sites: Sequence[str], sample: int, dark: bool = False) -> View:
    """All heads (columns) of some sites (rows) on one sample, each map small."""
    found = [read_maps(store, site, sample) for site in sites]
    heads = max(len(each.weights) for each in found)
    titles = [f"{layer_of(each.site)} · {head}" for each in found for head in range(heads)]
    chart = make_subplots(
        len(found), heads, subplot_titles=titles, horizontal_spacing=0.02, vertical_spacing=0.3 / max(len(found), 1) / 2,
    )  # fmt: skip
    for row, each in enumerate(found, 1):
        for column, weights in enumerate(each.weights, 1):
            small = shrink_map(weights, -(-max(weights.shape) // SMALL))
            heat = go.Heatmap(z=small, zmin=0, zmax=1, colorscale=look(dark).scale, showscale=False)
            chart.add_trace(heat, row, column)
    chart.update_annotations(font={"size": 11})
    dress(chart, 170 * len(found) + 60, dark, "select")
    chart.update_layout(margin={"t": 28})
    chart.update_xaxes(showticklabels=False, ticks="", fixedrange=True)
    chart.update_yaxes(showticklabels=False, ticks="", autorange="reversed", fixedrange=True)
    data = [
        _table(m, w).assign(site=m.site, head=h) for m in found for h, w in enumerate(m.weights)
    ]
    title = f"All heads (layer · head), sample {sample}"
    draw = partial(attention_grid, store, list(sites), sample)
    return View(title, chart, draw, pd.concat(data, ignore_index=True))
