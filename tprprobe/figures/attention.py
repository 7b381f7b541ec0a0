"""Attention of one head over the characters of one question (schlag Fig 3)."""

import re
from collections.abc import Sequence

import matplotlib
import numpy as np
from jaxtyping import Float

from tprprobe.errors import InputError
from tprprobe.figures.strips import SIGNS, Strip, draw_strips
from tprprobe.figures.style import INK, Drawing, drawing, tidy
from tprprobe.store import Store

COLOURS = "Blues"
LEAST = 0.05  # attention that is printed
BEHIND_SLASH = re.compile(r"/[\s(\-]*(\d+)")


def attention_rows(
    store: Store, site: str, sample: int, head: int, positions: Sequence[int] | None = None
) -> Drawing:
    """What the queries at ``positions`` attend to: a row of squares each, the query framed.

    Darker squares get more attention; under each the weight in percent, from 5 on. Default: the
    digits of every number that stands to the right of a '/'. Source: schlag Fig 3.

    Raises:
        InputError: no such map, head or position, or no such digit and no positions given.
    """
    weights, queries, keys = _map(store, site, sample, head)
    chosen = _digits_behind_slash(queries) if positions is None else list(positions)
    if not chosen:
        raise InputError(f"sample {sample} has no digit behind a '/': give positions")
    if bad := [p for p in chosen if not 0 <= p < len(queries)]:
        raise InputError(f"no position {bad[0]}: sample {sample} has 0 to {len(queries) - 1}")
    is_self = list(queries) == list(keys)
    strips = [
        Strip(
            tokens=keys,
            colours=[matplotlib.colormaps[COLOURS](weight) for weight in weights[position]],
            notes=[
                f"{weight:.0%}".rstrip("%") if weight >= LEAST else ""
                for weight in weights[position]
            ],
            heading=f"from ‘{SIGNS.get(queries[position], queries[position])}’ at {position}",
            framed=position if is_self else None,
        )
        for position in chosen
    ]
    caption = f"attention in percent, from {LEAST:.0%} on · framed: the query · # start, % end"
    return draw_strips(strips, _title(store, site, sample, head), caption)


def attention_matrix(store: Store, site: str, sample: int, head: int) -> Drawing:
    """The whole attention map of one head: a row each query, a column each key."""
    weights, queries, keys = _map(store, site, sample, head)
    size = 0.13
    figure = drawing(len(keys) * size + 1.6, len(queries) * size + 1.0)
    figure.set_layout_engine("compressed")
    axes = figure.add_subplot()
    image = axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(keys)), [SIGNS.get(token, token) for token in keys])
    axes.set_yticks(range(len(queries)), [SIGNS.get(token, token) for token in queries])
    tidy(axes, _title(store, site, sample, head))
    axes.tick_params(length=0, labelsize=7)
    axes.set(xlabel="key (attended to)", ylabel="query (attends)")
    bar = figure.colorbar(image, ax=axes, fraction=0.05, shrink=0.7, label="attention")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)
    bar.ax.yaxis.label.set(size=8, color=INK)
    return figure


def _map(
    store: Store, site: str, sample: int, head: int
) -> tuple[Float[np.ndarray, "query key"], list[str], list[str]]:
    """The attention map of one head and sample, and the characters of its two axes."""
    maps = store.attention(site, sample)
    if not 0 <= head < len(maps):
        raise InputError(f"{_place(store, site)} has no head {head}: it has 0 to {len(maps) - 1}")
    tokens = store.tokens[store.tokens["sample"] == sample]
    sides = store.specs[_place(store, site)].rows.split("_")
    queries, keys = (tokens.loc[tokens["side"] == side, "token"].astype(str) for side in sides)
    return maps[head], queries.tolist(), keys.tolist()


def _place(store: Store, site: str) -> str:
    return store.select(site)[0]


def _title(store: Store, site: str, sample: int, head: int) -> str:
    return f"{_place(store, site)}, head {head}, question {sample}"


def _digits_behind_slash(tokens: Sequence[str]) -> list[int]:
    text = "".join(token if len(token) == 1 else "\0" for token in tokens)
    return [i for found in BEHIND_SLASH.finditer(text) for i in range(*found.span(1))]
