"""Attention over the tokens of one sample: rows and the map of one head, small maps of all."""

import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float

from tprprobe.analyses.attention.gold_maps import read_maps
from tprprobe.errors import InputError
from tprprobe.figures.dots import render
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Grid, Squares
from tprprobe.figures.strips import SIGNS, Strip, StripFrame, Strips, draw_strips
from tprprobe.figures.style import Drawing
from tprprobe.store import Store
from tprprobe.store.token_texts import spell

COLORS = "Blues"
MIN_WEIGHT = 0.05  # attention that is printed
MAX_LENGTH = 14  # characters of a token along an axis
CAPTION = f"attention in percent, from {MIN_WEIGHT:.0%} on · # start, % end · framed: the query"


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
    return draw_strips(row_strips(store, site, sample, head, positions))


def row_strips(
    store: Store, site: str, sample: int, head: int, positions: Sequence[int] | None = None
) -> Strips:
    """The scene of :func:`attention_rows`."""
    weights, queries, keys = read_map(store, site, sample, head)
    positions = _list_divisors(queries) if positions is None else list(positions)
    if not positions:
        raise InputError(f"sample {sample} has no digit after a '/': give positions")
    if bad := [p for p in positions if not 0 <= p < len(queries)]:
        raise InputError(f"no position {bad[0]}: sample {sample} has 0 to {len(queries) - 1}")
    strips = [
        Strip(
            **weight_squares(keys, weights[position]),
            heading=f"from ‘{SIGNS.get(queries[position], spell(queries[position]))}’ at {position}",
            frames=[StripFrame(position, position + 1)] if queries == keys else [],
        )
        for position in positions
    ]
    return Strips(strips, title=_title(store, site, sample, head), note=CAPTION)


def weight_squares(keys: Sequence[str], weights: Float[np.ndarray, " key"]) -> dict[str, Any]:
    """Characters, darker the more attention they get, and the weights that are printed."""
    return {
        "tokens": keys,
        "colors": [matplotlib.colormaps[COLORS](weight) for weight in weights],
        "notes": [f"{w:.0%}".rstrip("%") if w >= MIN_WEIGHT else "" for w in weights],
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
    return render(map_squares(store, site, sample, head))


def map_squares(store: Store, site: str, sample: int, head: int) -> Squares:
    """The scene of :func:`attention_matrix`."""
    weights, queries, keys = read_map(store, site, sample, head)
    titles = ("query (attends)", "key (attended to)")
    title = _title(store, site, sample, head)
    return Squares(weights, _signs(queries), _signs(keys), titles, bar="attention", title=title)


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
    return render(map_grid(store, sites, sample))


def map_grid(store: Store, sites: Sequence[str], sample: int) -> Grid:
    """The scene of :func:`attention_grid`."""
    maps = [(name, store.attention(name, sample)) for site in sites for name in store.select(site)]
    pictures = [
        Squares(weights, (), (), title=site_label(site, head))
        for site, heads in maps
        for head, weights in enumerate(heads)
    ]
    title = f"Attention of all heads, sample {sample}"
    return Grid(pictures, max(len(heads) for _, heads in maps), title=title)


def _signs(tokens: Sequence[str]) -> list[str]:
    """Tokens as they stand along an axis, long ones cut."""
    signs = [SIGNS.get(token, spell(token).strip()) for token in tokens]
    return [sign if len(sign) <= MAX_LENGTH else f"{sign[: MAX_LENGTH - 1]}…" for sign in signs]


def read_map(
    store: Store, site: str, sample: int, head: int
) -> tuple[Float[np.ndarray, "query key"], list[str], list[str]]:
    """The attention map of one head and sample, and the characters of its two axes."""
    maps = read_maps(store, site, sample)
    if not 0 <= head < len(maps.weights):
        raise InputError(f"{maps.site} has no head {head}: it has 0 to {len(maps.weights) - 1}")
    queries, keys = (table["token"].astype(str).tolist() for table in (maps.queries, maps.keys))
    return maps.weights[head], queries, keys


def _title(store: Store, site: str, sample: int, head: int) -> str:
    unit = "question" if store.has_questions else "sample"
    return f"{site_label(store.select(site)[0], head)}, {unit} {sample}"


def _list_divisors(tokens: Sequence[str]) -> list[int]:
    text = "".join(token if len(token) == 1 else "\0" for token in tokens)
    return [i for match in re.finditer(r"/[\s(\-]*(\d+)", text) for i in range(*match.span(1))]
