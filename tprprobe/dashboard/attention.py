"""Attention of one sample: a head's map with gold relations, all heads, and which head follows a relation."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.colors import to_hex

from tprprobe import plugins
from tprprobe.analyses.attention.gold_maps import Maps, find_maps, gold_pairs
from tprprobe.analyses.attention.gold_maps import read_maps as read_maps
from tprprobe.analyses.attention.head_relations import (
    NEARBY,
    OFFSETS,
    has_sink,
    pick_heads,
    score_relation,
)
from tprprobe.analyses.attention.head_relations import follow as follow
from tprprobe.analyses.attention.head_relations import list_relations as list_relations
from tprprobe.analyses.attention.head_relations import score_sharpness as score_sharpness
from tprprobe.dashboard.contents import list_contents
from tprprobe.dashboard.statements import Link, Statement, percent, top
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.attention import MAX_LENGTH, map_grid
from tprprobe.figures.colors import text_color
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Squares
from tprprobe.figures.theme import shade
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.token_texts import is_special, sign, visible

SMALL, CELLS = 48, 400  # rows and columns of a map beside others, and alone
SHOWN = 120  # tokens of a column with lines
LOOKS = "{0}s look most, special tokens and itself left out, at the "
DEPENDS = LOOKS.format("word") + "word that they depend on"
BASELINES = {  # that need no head
    "uniform": "equal weights",
    "nearest": "the nearest ‘/’ before the digit",
    "offset": "the best fixed distance",
    "shuffled": "another head, drawn at random",
    **{f"offset {n:+d}": f"the best fixed distance, {n:+d}" for n in OFFSETS},
}
ARROW = " → "  # between what a decoder reads and writes
SAME = "chosen and scored on the same, so a little too high"
DIVIDES = "the weight of a denominator’s digits lies on the ‘/’ that divides by them"


def show_matrix(store: Store | None, maps: Maps, head: int) -> View:
    """The view of the whole map of a head.

    Args:
        store: The store; None: the maps are of a text that is asked.
        maps: The maps of :func:`read_maps`.
        head: The head.

    Returns:
        The view; its data have a row per query and key, see [columns](dashboard.md#columns-of-the-dashboards-tables).

    Raises:
        InputError: No such head.

    Examples:
        >>> maps = tp.dashboard.read_maps(store, "encoder.-1.self.attention", 0)
        >>> len(tp.dashboard.show_matrix(store, maps, head=0).data) == maps.weights[0].size
        True
    """
    pairs, relation = gold_pairs(store, maps) if store else ([], "")
    weights, step = _shrink(maps.weights[head], CELLS)
    texts = np.full(weights.shape, "")
    for query, key in pairs:
        texts[query // step, key // step] = "○"
    signs = _name_queries(maps.queries), _list_signs(maps.keys)
    rows, columns = (
        [f"{i} {visible(names[i], MAX_LENGTH)}" for i in range(0, len(names), step)]
        for names in signs
    )
    attends = "read → written (attends)" if ARROW in rows[0] else "query (attends)"
    scene = Squares(weights, rows, columns, (attends, "key (attended to)"), texts, bar="attention")
    title, note = site_label(maps.site, head), f"○ gold: {relation}" if pairs else ""
    title += f", sample {maps.sample}" * (store is not None)
    return View(title, _list_weights(maps, head), scene, note)


def read_prompt(
    site: str, tokens: Sequence[str], weights: Float[np.ndarray, "head query key"]
) -> Maps:
    """The maps of a site on a text that is asked; of an answer its queries are numbers."""
    names = ([*tokens] if n == len(tokens) else [*map(str, range(n))] for n in weights.shape[1:])
    sides = (pd.DataFrame({"token": texts, "row": -1, "side": "asked"}) for texts in names)
    return Maps(site, 0, weights, *sides)


def _list_signs(tokens: pd.DataFrame) -> list[str]:
    return [sign(token).strip() for token in tokens["token"]]


def _name_queries(tokens: pd.DataFrame) -> list[str]:
    """The tokens that attend; those of a decoder by what it reads and writes."""
    signs = _list_signs(tokens)
    pairs = pairwise([*signs, "…"]) if tokens["side"].iloc[0] == "target" else ()
    return [f"{source}{ARROW}{target}" for source, target in pairs] or signs


def _list_weights(maps: Maps, head: int) -> pd.DataFrame:
    query, key = np.indices(maps.weights[head].shape).reshape(2, -1)
    queries, keys = np.array(_name_queries(maps.queries)), np.array(_list_signs(maps.keys))
    table = pd.DataFrame({"query": query, "query_token": queries[query], "key": key})
    return table.assign(key_token=keys[key], weight=maps.weights[head].ravel())


def show_grid(store: Store, sites: Sequence[str], sample: int) -> View:
    """All heads (columns) of some sites (rows) on one sample, each map small."""
    tables = [
        _list_weights(maps, head).assign(site=maps.site, head=head)
        for maps in (read_maps(store, site, sample) for site in sites)
        for head in range(len(maps.weights))
    ]
    data = pd.concat(tables, ignore_index=True)
    return View(f"All heads, sample {sample}", data, map_grid(store, sites, sample))


def score_attention(
    store: Store, followed: pd.DataFrame | None, relation: str = ""
) -> pd.DataFrame:
    """Every head's share of what it should look at, with its interval; ``follows`` says what that is, see :func:`follow`.

    Without labelled words that is the '/' that divides by a denominator, of arithmetic; else nothing, and the value its mean largest weight.
    """
    if followed is not None:
        criterion = f"{DEPENDS} ({relation})" if relation else DEPENDS
        if relation in NEARBY:
            criterion = LOOKS.format(relation.split()[-1]) + relation
        return score_relation(_select(followed, relation)).assign(follows=criterion)
    try:
        division = plugins.find("relations").get("division")
        if division and list_contents(store).arithmetic:
            site_of = {layer_of(site): site for site in find_maps(store)}
            scores = division.load()(store)
            return scores.assign(site=scores["layer"].map(site_of), follows=DIVIDES)
    except InputError:  # none of the questions whose maps are stored divides
        pass
    return score_sharpness(store)


def _select(followed: pd.DataFrame, relation: str) -> pd.DataFrame:
    """The words of a relation; without one, those that depend on others."""
    is_asked = followed["relation"] == relation
    return followed[is_asked if relation else ~followed["relation"].isin(NEARBY)]


def show_heads(scores: pd.DataFrame, title: str) -> View:
    """The scores of all heads, in percent: a row a site, a column a head."""
    heads = scores[scores["source"] == "head"].astype({"head": int})
    wide = heads.pivot(index="site", columns="head", values="value")
    wide = wide.reindex(heads["site"].unique())
    rows, columns = [*map(site_label, wide.index)], [*map(str, wide.columns)]
    texts = np.char.replace(np.char.mod("%.0f", 100 * wide.to_numpy(float)), "nan", "")
    return View(title, scores, Squares(wide.to_numpy(float), rows, columns, ("", "head"), texts))


def pack_scores(scores: pd.DataFrame, dark: bool) -> list[dict[str, object]]:
    """A square a head with its percent, a row a site, each to be picked; above them the numbers of heads."""
    heads = scores[scores["source"] == "head"].astype({"head": int})
    numbers = range(heads["head"].max() + 1)
    groups = {"head": [{"name": "", "text": str(n), "title": ""} for n in numbers]}
    backs = shade(heads["value"].fillna(0).to_numpy(float), dark)
    for row, back in zip(heads.to_dict("records"), backs, strict=True):
        text = "" if np.isnan(row["value"]) else f"{100 * row['value']:.0f}"
        title = f"{site_label(row['site'], row['head'])}: {percent(row)}"
        square = {"text": text, "title": title, "back": to_hex(back), "ink": text_color(back)}
        squares = groups.setdefault(site_label(row["site"]), [])
        squares.append({"name": f"{row['site']}:{row['head']}", **square})
    return [{"heading": heading, "items": items} for heading, items in groups.items()]


def pick_head(followed: pd.DataFrame | None, relation: str = "") -> pd.Series | None:
    """The row of :func:`pick_heads` of a relation (or all), with the halves of ``figure heads``; None where documents are too few."""
    if followed is None:
        return None
    words = _select(followed, relation if relation in NEARBY else "")
    name = relation if relation in {*words["relation"]} else "all"
    try:
        return next((row for _, row in pick_heads(words, relations=[name]).iterrows()), None)
    except InputError:
        return None


def summarize_attention(
    store: Store, scores: pd.DataFrame, picked: pd.Series | None = None
) -> Statement:
    """Which head follows a gold relation most (scores with a column ``follows``), beside what needs no head; else which head
    has the largest weights. ``picked``: the head of :func:`pick_head`, which is scored on other documents than it was chosen on.
    """
    is_head = scores["source"] == "head"
    best, n_heads = top(scores[is_head], "value"), is_head.sum()
    where, link = site_label(best["site"], best["head"]), link_head(best["site"], best["head"])
    if "follows" not in scores:
        text = f"Sharpest of {n_heads} heads is {where}: a query’s {name_weight(best['site'])} is {percent(best, digits=0)} on average (the first {best['n']} samples)."
        return Statement(text, (link,))
    n_maps = store.count_maps(best["site"])
    samples = f", of the {n_maps:,} samples with maps" * (n_maps < store.samples)
    if picked is not None:
        return _summarize_picked(picked, str(best["follows"]), int(n_heads), samples)
    controls = scores[~is_head].to_dict("records")
    names = [BASELINES.get(row["source"], row["source"]) for row in controls]
    claims = [f"{name} ({percent(row)})" for name, row in zip(names, controls, strict=True)]
    text = f"{where[0].upper()}{where[1:]} is the best of {n_heads} heads: {percent(best)} of {best['follows']} (n = {best['n']:,}{samples}; {SAME})."
    return Statement(text + f" Without a head: {', '.join(claims)}." * bool(claims), (link,))


def name_weight(site: str) -> str:
    return "largest weight" + " on tokens other than the first" * has_sink(site)


def _summarize_picked(picked: pd.Series, follows: str, n_heads: int, samples: str) -> Statement:
    where = site_label(picked["site"], picked["head"])
    offset = BASELINES[f"offset {picked['offset']:+d}"]
    text = (
        f"{where[0].upper()}{where[1:]} is the best of {n_heads} heads on half of the documents. On the other half, {percent(picked)} of {follows} "
        f"(n = {picked['n']:,}{samples}); without a head, {offset}, chosen in the same way: {percent(picked, 'by_offset')}; "
        f"the difference is {interval_text(read_interval(picked, 'beyond'), '+.1f', 100, ' points')}."
    )
    if follows.endswith(NEARBY):
        text = (
            f"{text.partition(';')[0]}; the previous one is a fixed distance, which needs no head."
        )
    text += " Too few documents for intervals." * ("[" not in percent(picked))
    return Statement(text, (link_head(picked["site"], picked["head"]),))


def link_head(site: str, head: Any) -> Link:
    return Link(f"Show {site_label(site, head)}", "attention", {"maps": site, "head": str(head)})


def pack_heads(maps: Mapping[str, Float[np.ndarray, "head query key"]]) -> list[dict[str, object]]:
    """Attention maps, small, by the name of their site, each to be picked."""
    groups = []
    for site, heads in maps.items():
        items = [
            {"name": f"{site}:{n}", "map": pack_weights(weights, SMALL), "text": f"head {n}"}
            for n, weights in enumerate(heads)
        ]
        groups += [{"heading": site_label(site.rpartition(".")[0]), "items": items}]
    return groups


def pack_attention(maps: Maps, head: int) -> dict[str, object]:
    """One head's weights, and the tokens of queries and keys with their rows; of many tokens the first."""
    weights = maps.weights[head][:SHOWN, :SHOWN]
    queries, keys, sees_later = maps.queries[:SHOWN], maps.keys[:SHOWN], np.triu(weights, 1).any()
    return {
        "weights": weights.astype(float).round(3).tolist(),
        "height": len(maps.queries),
        "queries": _pack_side(queries, _name_queries(queries), sees_later),
        "keys": _pack_side(keys, _list_signs(keys), sees_later),
    }


def _pack_side(tokens: pd.DataFrame, signs: list[str], sees_later: object) -> dict[str, object]:
    """The tokens of one axis; of causal maps all can see the first token, which is special."""
    special = [is_special(text) for text in signs]
    special[0] |= not (sees_later or ARROW in signs[0])
    side = str(tokens["side"].iloc[0])
    return {"signs": signs, "special": special, "rows": tokens["row"].tolist(), "side": side}


def pack_weights(weights: Float[np.ndarray, "query key"], max_side: int) -> dict[str, object]:
    """Weights in 8 bits, of a large map the largest of every block."""
    largest, _ = _shrink(weights, max_side)
    codes = np.rint(255 * np.clip(largest, 0, 1)).astype(np.uint8)
    rows, columns = codes.shape
    return {"rows": rows, "columns": columns, "weights": b64encode(codes.tobytes()).decode()}


def _shrink(
    weights: Float[np.ndarray, "query key"], max_side: int
) -> tuple[Float[np.ndarray, "row column"], int]:
    """The largest weight of every block of as many rows and columns as leave ``max_side``, and that number."""
    step = -(-max(weights.shape) // max_side)
    padded = np.pad(weights, [(0, -n % step) for n in weights.shape])
    rows, columns = (n // step for n in padded.shape)
    return padded.reshape(rows, step, columns, step).max((1, 3)), step
