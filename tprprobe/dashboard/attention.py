"""Attention of one sample: a head's map with gold relations, all heads, and which head follows a relation."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.colors import to_hex

from tprprobe import plugins
from tprprobe.analyses.attention.gold_maps import find_maps
from tprprobe.analyses.attention.head_relations import follow as follow
from tprprobe.analyses.attention.head_relations import list_relations as list_relations
from tprprobe.analyses.attention.head_relations import score_relation, score_sharpness
from tprprobe.analyses.attention.sample_maps import Maps, gold_pairs
from tprprobe.analyses.attention.sample_maps import read_maps as read_maps
from tprprobe.dashboard.contents import list_contents
from tprprobe.dashboard.statements import Link, Statement, percent, place, top
from tprprobe.dashboard.theme import look, shade
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures import attention_grid, attention_matrix
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import text_color
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store
from tprprobe.store.token_texts import sign

SPECIAL = re.compile(r"\[[A-Z]+\d*\]|<\|?/?\w+\|?>")  # tokens that no text holds
SMALL, CELLS = 48, 400  # rows and columns of a map beside others, and alone
DEPENDS = "words look most at the word that they depend on"
DIVIDES = "the weight of a denominator’s digits lies on the ‘/’ that divides by them"


def show_matrix(store: Store, maps: Maps, head: int) -> View:
    """The view of the whole map of a head.

    Args:
        store: The store.
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
    if not 0 <= head < len(maps.weights):
        raise InputError(f"{maps.site} has no head {head}: it has 0 to {len(maps.weights) - 1}")
    pairs, told = gold_pairs(store, maps)
    query, key = np.indices(maps.weights[head].shape).reshape(2, -1)
    table = pd.DataFrame({"query": query, "key": key, "weight": maps.weights[head].ravel()})
    draw = partial(attention_matrix, store, maps.site, maps.sample, head)
    title = f"{maps.site}, head {head}, sample {maps.sample}"
    return View(title, table, None, draw, f"○ gold: {told}" if pairs else "")


def show_grid(store: Store, sites: Sequence[str], sample: int) -> View:
    """All heads (columns) of some sites (rows) on one sample, each map small."""
    tables = [
        show_matrix(store, maps, head).data.assign(site=maps.site, head=head)
        for maps in (read_maps(store, each, sample) for each in sites)
        for head in range(len(maps.weights))
    ]
    draw = partial(attention_grid, store, list(sites), sample)
    return View(f"All heads, sample {sample}", pd.concat(tables, ignore_index=True), None, draw)


def score_attention(
    store: Store, followed: pd.DataFrame | None, relation: str = ""
) -> pd.DataFrame:
    """Every head's share of what it should look at: source, site, layer, head, n, value with its interval, ``follows``.

    Of labelled words (``followed``: as of :func:`follow`) the word that a word depends on, of one relation or
    of all; of arithmetic the '/' that divides by a denominator. Without either, its mean largest weight.
    """
    if followed is not None:
        told = f"{DEPENDS} ({relation})" if relation else DEPENDS
        return score_relation(followed, relation).assign(follows=told)
    try:
        division = plugins.find("relations").get("division")
        if division and list_contents(store).arithmetic:
            site_of = {layer_of(each): each for each in find_maps(store)}
            scores = division.load()(store)
            return scores.assign(site=scores["layer"].map(site_of), follows=DIVIDES)
    except InputError:  # none of the questions whose maps are stored divides
        pass
    return score_sharpness(store)


def show_heads(scores: pd.DataFrame, title: str) -> View:
    """The scores of all heads; paper shows the highest."""
    heads = scores[scores["source"] == "head"]
    names = [*map(place, heads["site"].str.removesuffix(".attention"), heads["head"])]
    ends = {end: heads.get(f"value_{end}", heads["value"]) for end in ("low", "high")}
    dots = heads.assign(name=names, group="head", **ends).nlargest(24, "value")
    return View(title, scores, None, partial(interval_dots, dots, title, "share"))


def pack_scores(scores: pd.DataFrame, dark: bool) -> list[dict[str, Any]]:
    """A square a head with its percent, a row a site, each to be picked; above them the numbers of heads."""
    heads = scores[scores["source"] == "head"].astype({"head": int})
    most = range(heads["head"].max() + 1)
    groups = {"head": [{"name": "", "text": str(n), "title": ""} for n in most]}
    backs = shade(heads["value"].fillna(0).to_numpy(float), dark)
    for row, back in zip(heads.to_dict("records"), backs, strict=True):
        text = "" if np.isnan(row["value"]) else f"{100 * row['value']:.0f}"
        title = f"{place(row['site'], row['head'])}: {percent(row)}"
        square = {"text": text, "title": title, "back": to_hex(back), "ink": text_color(back)}
        of_site = groups.setdefault(row["site"].removesuffix(".attention"), [])
        of_site.append({"name": f"{row['site']}:{row['head']}", **square})
    return [{"heading": heading, "items": items} for heading, items in groups.items()]


def summarize_attention(scores: pd.DataFrame) -> Statement:
    """Which head follows a gold relation most (scores with a column ``follows``), beside what needs no head; else which head
    has the largest weights.
    """
    heads, others = scores[scores["source"] == "head"], scores[scores["source"] != "head"]
    best = top(heads, "value")
    where = place(best["site"], best["head"])
    link = link_head(best["site"], best["head"])
    if "follows" not in scores:
        weight = percent(best, digits=0)
        over = f"on average over the queries of {best['n']} samples"
        text = f"Sharpest of {len(heads)} heads is {where}: its largest weight is {weight} {over}."
        return Statement(text, (link,))
    beside = ", ".join(f"{row['source']} {percent(row)}" for row in others.to_dict("records"))
    text = f"{where} is the best of {len(heads)} heads: {percent(best)} of {best['follows']} (n = {best['n']:,})."
    return Statement(text + (f" Without a head: {beside}." if beside else ""), (link,))


def link_head(site: str, head: Any) -> Link:
    """The page with a head's map."""
    return Link(f"Show {place(site, head)}", "attention", {"maps": site, "head": str(head)})


def pack_heads(
    maps: Mapping[str, Float[np.ndarray, "head query key"]], does: str = ""
) -> list[dict[str, Any]]:
    """Attention maps, small, by the name of their site, each to be picked; ``does`` is what that does to a head."""
    groups = []
    for site, of in maps.items():
        said = {f"{site}:{n}": {"text": f"head {n}", "title": f"{place(site, n)}{does}"} for n in range(len(of))}  # fmt: skip
        drawn = zip(said.items(), of, strict=True)
        items = [{"name": name, "map": pack_weights(w, SMALL)} | each for (name, each), w in drawn]
        groups.append({"heading": site.rpartition(".")[0], "items": items})
    return groups


def pack_attention(store: Store, maps: Maps, head: int, dark: bool) -> dict[str, Any]:
    """One head's map: the tokens of queries and keys with their rows, weights, gold pairs."""
    pairs, told = gold_pairs(store, maps)
    sent = {"map": pack_weights(maps.weights[head], CELLS), "pairs": [list(each) for each in pairs]}
    for name, part in (("queries", maps.queries), ("keys", maps.keys)):
        signs, side = [sign(each).strip() for each in part["token"]], str(part["side"].iloc[0])
        special = [bool(SPECIAL.fullmatch(each)) for each in signs]
        special[0] |= not np.triu(maps.weights, 1).any()  # a first token that all can see
        sent[name] = {
            "signs": signs,
            "special": special,
            "rows": part["row"].tolist(),
            "side": side,
        }
    return sent | {"gold": told, "ramp": look(dark).scale}


def pack_weights(weights: Float[np.ndarray, "query key"], most: int) -> dict[str, Any]:
    """Weights in 8 bits; of a large map the largest weight of every block of ``step`` × ``step``."""
    step = -(-max(weights.shape) // most)
    rows, columns = (-(-n // step) for n in weights.shape)
    padded = np.zeros((rows * step, columns * step), weights.dtype)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    largest = padded.reshape(rows, step, columns, step).max((1, 3))
    codes = np.rint(255 * np.clip(largest, 0, 1)).astype(np.uint8)
    return {"rows": rows, "columns": columns, "step": step, "weights": b64encode(codes).decode()}
