"""Attention over the tokens of one sample: rows and the map of one head, small maps of all."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.analyses.attention.gold_maps import read_maps
from tprprobe.errors import InputError
from tprprobe.figures.colors import color_map
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Grid, Squares
from tprprobe.figures.strips import SIGNS, Strip, StripFrame, Strips, write_token
from tprprobe.store import Store
from tprprobe.store.token_texts import spell

MIN_WEIGHT = 0.05  # attention that is printed
MAX_LENGTH = 14  # characters of a token along an axis
CAPTION = f"attention in percent, from {MIN_WEIGHT:.0%} on · ⊢ start, ⊣ end · framed: the query"


def row_strips(
    store: Store, site: str, sample: int, head: int, positions: Sequence[int] | str | None = None
) -> Strips:
    """A row of squares a query, which is framed; darker squares get more attention, the number below is the weight in percent.

    ``positions`` are those of the queries; default: the digits of every number right of a '/'. Source: schlag Fig. 3.
    """
    weights, queries, keys = read_map(store, site, sample, head)
    if isinstance(positions, str):
        positions = [int(p) if p.isdecimal() else -1 for p in positions.split(",")]
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
    note = f"{CAPTION}\n{name_origin(store)}"
    return Strips(strips, title=_title(store, site, sample, head), note=note)


def name_origin(store: Store) -> str:
    """The line that names the model and the data of a store."""
    data = str(store.facts.data.name).rpartition("/")[2]
    return f"Model: {store.facts.model.name}. Data: {data}."


def weight_squares(keys: Sequence[str], weights: Float[np.ndarray, " key"]) -> dict[str, Any]:
    """Characters, darker the more attention they get, and the weights that are printed."""
    return {
        "tokens": keys,
        "colors": [color_map()(weight) for weight in weights],
        "notes": [f"{w:.0%}".rstrip("%") if w >= MIN_WEIGHT else "" for w in weights],
    }


def map_squares(store: Store, site: str, sample: int, head: int) -> Squares:
    """The attention map of one head: a row a query, a column a key."""
    weights, queries, keys = read_map(store, site, sample, head)
    titles = ("query (attends)", "key (attended to)")
    places = np.indices(weights.shape).reshape(2, -1)
    tokens = np.array(queries)[places[0]], np.array(keys)[places[1]]
    columns = ["query position", titles[0], "key position", titles[1], "value"]
    numbers = places[0], tokens[0], places[1], tokens[1], weights.ravel()
    marks = pd.DataFrame(dict(zip(columns, numbers, strict=True)))
    texts: Any = {"title": _title(store, site, sample, head), "note": name_origin(store)}
    return Squares(
        weights, _signs(queries), _signs(keys), titles, bar="attention", marks=marks, **texts
    )


def map_grid(store: Store, sites: Sequence[str], sample: int) -> Grid:
    """Attention maps, one per head (columns) and site (rows): queries downward, keys to the right."""
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
    signs = map(write_token, tokens)
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
