"""Attention over the tokens of one sample: rows and the map of one head, small maps of all."""

import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float

from tprprobe.errors import InputError
from tprprobe.figures.strips import PLAIN, SIGNS, Strip, StripFrame, draw_strips
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, tidy
from tprprobe.store import Store
from tprprobe.store.token_texts import spell

COLORS = "Blues"
LEAST = 0.05  # attention that is printed
FEWEST = 20  # tokens that an axis has room for
LONGEST = 14  # characters of a token along an axis
CAPTION = f"attention in percent, from {LEAST:.0%} on · # start, % end · framed: the query"


def attention_rows(
    store: Store,
    site: str,
    sample: int,
    head: int,
    positions: Sequence[int] | None = None,
) -> Drawing:
    """A figure of the attention of some queries: one row of squares per query, which is framed.

    Darker squares get more attention; the number below is the weight in percent, from 5 on.

    Args:
        store: The store.
        site: A site of attention maps; layer -1 is the last.
        sample: The number of the sample.
        head: The head.
        positions: The positions of the queries; default: the digits of every number that stands to the right of a '/'.

    Returns:
        The figure.

    Raises:
        InputError: No such map, head or position, or no such digit and no positions chosen.

    Source: schlag Fig. 3.

    Examples:
        >>> tp.figures.attention_rows(store, "encoder.-1.self.attention", 0, head=0, positions=[1, 2]).savefig("rows.pdf")
    """
    weights, queries, keys = read_map(store, site, sample, head)
    chosen = _list_divisors(queries) if positions is None else list(positions)
    if not chosen:
        raise InputError(f"sample {sample} has no digit after a '/': give positions")
    if bad := [p for p in chosen if not 0 <= p < len(queries)]:
        raise InputError(f"no position {bad[0]}: sample {sample} has 0 to {len(queries) - 1}")
    is_self = list(queries) == list(keys)
    strips = [
        Strip(
            **weight_squares(keys, weights[position]),
            heading=f"from ‘{SIGNS.get(queries[position], spell(queries[position]))}’ at {position}",
            frames=[StripFrame(position, position + 1)] if is_self else [],
        )
        for position in chosen
    ]
    return draw_strips(strips, _title(store, site, sample, head), CAPTION)


def weight_squares(keys: Sequence[str], weights: Float[np.ndarray, " key"]) -> dict[str, Any]:
    """Characters, darker the more attention they get, and the weights that are printed."""
    return {
        "tokens": keys,
        "colors": [matplotlib.colormaps[COLORS](weight) for weight in weights],
        "notes": [f"{weight:.0%}".rstrip("%") if weight >= LEAST else "" for weight in weights],
    }


def attention_matrix(store: Store, site: str, sample: int, head: int) -> Drawing:
    """A figure of the whole attention map of one head: a row per query, a column per key.

    Args:
        store: The store.
        site: A site of attention maps; layer -1 is the last.
        sample: The number of the sample.
        head: The head.

    Returns:
        The figure.

    Raises:
        InputError: No such map or head.

    Examples:
        >>> tp.figures.attention_matrix(store, "encoder.-1.self.attention", sample=0, head=0).savefig("map.pdf")
    """
    weights, queries, keys = read_map(store, site, sample, head)
    size = 0.13
    width, height = (max(len(tokens), FEWEST) * size for tokens in (keys, queries))
    figure = drawing(width + 1.6, height + 1.0)
    figure.set_layout_engine("compressed")
    axes = figure.add_subplot()
    image = axes.imshow(weights, cmap=COLORS, vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(keys)), _signs(keys), **PLAIN)
    axes.set_yticks(range(len(queries)), _signs(queries), **PLAIN)
    tidy(axes, _title(store, site, sample, head))
    axes.tick_params(length=0, labelsize=7)
    axes.set(xlabel="key (attended to)", ylabel="query (attends)")
    bar = figure.colorbar(image, ax=axes, fraction=0.05, shrink=0.7, label="attention")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)
    bar.ax.yaxis.label.set(size=8, color=INK)
    return figure


def attention_grid(store: Store, sites: Sequence[str], sample: int) -> Drawing:
    """A figure of attention maps, one per head (columns) and site (rows): queries downward, keys to the right.

    Args:
        store: The store.
        sites: Sites of attention maps.
        sample: The number of the sample.

    Returns:
        The figure.

    Raises:
        InputError: No such maps.

    Examples:
        >>> len(tp.figures.attention_grid(store, ["encoder.-1.self.attention"], sample=0).axes)
        4
    """
    maps = [(name, store.attention(name, sample)) for site in sites for name in store.select(site)]
    heads = max(len(weights) for _, weights in maps)
    figure = drawing(1.5 * heads + 0.4, 1.6 * len(maps) + 0.5)
    panels = figure.subplots(len(maps), heads, squeeze=False)
    for row, (name, weights) in zip(panels, maps, strict=True):
        for head, panel in enumerate(row):
            panel.set(xticks=[], yticks=[])
            panel.set_visible(head < len(weights))
            panel.spines[:].set_color(MUTED)
            if head < len(weights):
                panel.imshow(weights[head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
                label = f"{name.removesuffix('.attention')}, head {head}"
                panel.set_title(label, loc="left", fontsize=6.5)
    figure.suptitle(f"Attention of all heads, sample {sample}", fontsize=9, fontweight="bold")
    return figure


def _signs(tokens: Sequence[str]) -> list[str]:
    """Tokens as they stand along an axis, long ones cut."""
    signs = [SIGNS.get(token, spell(token).strip()) for token in tokens]
    return [sign if len(sign) <= LONGEST else f"{sign[: LONGEST - 1]}…" for sign in signs]


def read_map(
    store: Store, site: str, sample: int, head: int
) -> tuple[Float[np.ndarray, "query key"], list[str], list[str]]:
    """The attention map of one head and sample, and the characters of its two axes."""
    maps, place = store.attention(site, sample), store.select(site)[0]
    if not 0 <= head < len(maps):
        raise InputError(f"{place} has no head {head}: it has 0 to {len(maps) - 1}")
    tokens = store.tokens[store.tokens["sample"] == sample]
    sides = store.specs[place].rows.split("_")
    queries, keys = (tokens.loc[tokens["side"] == side, "token"].astype(str) for side in sides)
    return maps[head], queries.tolist(), keys.tolist()


def _title(store: Store, site: str, sample: int, head: int) -> str:
    return f"{store.select(site)[0]}, head {head}, question {sample}"


def _list_divisors(tokens: Sequence[str]) -> list[int]:
    text = "".join(token if len(token) == 1 else "\0" for token in tokens)
    return [i for found in re.finditer(r"/[\s(\-]*(\d+)", text) for i in range(*found.span(1))]
