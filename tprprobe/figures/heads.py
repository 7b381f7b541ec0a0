"""Heads that look at related words: at the one that a word depends on, beside a rule that knows the distance alone, and any."""

import re
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.head_patterns import FIRST, MARGIN, PATTERNS
from tprprobe.analyses.attention.head_relations import follow_relations, pick_heads
from tprprobe.figures.attention import name_origin
from tprprobe.figures.labels import site_label
from tprprobe.figures.look import current_look
from tprprobe.figures.scenes import Squares
from tprprobe.figures.tables import Table
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import write_interval
from tprprobe.store import Store
from tprprobe.store.layout import TWINS

TITLE = "Heads that follow relations between words"
CAPTION = (
    "attention: of the words of a relation, the percent from which the head looks most at the other word.\n"
    "difference: attention less the percent whose other word stands at the best fixed distance (at that distance).\n"
    "[95 % interval], of ten documents or more. Head and distance were chosen on half of the documents and are scored on the other half."
)
SQUARES_NOTE = (
    "Color: the head's best relation. Its depth: the percentage of the words or tokens from which it looks most at the related one, on texts that did not choose it. "
    f"Special tokens and a look at itself do not count. Empty squares: heads whose 95\u00a0% interval begins less than {100 * MARGIN:.0f}\u00a0% of the cases above "
    "chance or, where the relation is no fixed distance itself, above the best fixed distance."
)
BEYOND = ["beyond", "beyond_low", "beyond_high"]  # columns
MAX_COLORS, OTHER_RELATION = 6, "another relation"
MIN_WEIGHT = 0.05  # mean attention that is printed
MAP_NOTE = "Mean attention in percent over the read texts of {1} tokens with outputs of {0}, the most frequent lengths, of the clearest head of cross-attention."
DIRECTIONS = {False: "to the parent", True: "to the dependent"}


def heads_table(store: Store, seed: int = 0) -> Table:
    """For every relation, in both directions, the best head beside the best fixed offset."""
    tables = [
        pick_heads(follow_relations(store, backward), seed).assign(direction=direction)
        for backward, direction in DIRECTIONS.items()
    ]
    cells = [_cells(row) for table in tables for _, row in table.iterrows()]
    places: Any = {
        "block": ("direction",),
        "spare": ("words", "fixed distance", "at that distance"),
    }
    texts = f"{store.facts.attention_samples or store.samples:,} texts with attention maps"
    caption = f"{CAPTION}\n{name_origin(store)} Measured on {texts}."
    return Table(pd.DataFrame(cells), TITLE, caption, (len(tables[0]),), **places)


def _cells(row: pd.Series) -> dict[str, str]:
    head = site_label(row["site"], row["head"])
    head = (
        re.sub(r"layer (\d+), head (\d+)", r"L\1 H\2", head) if current_look().is_narrow else head
    )
    return {
        "relation": str(row["relation"]),
        "direction": str(row["direction"]),
        "words": f"{row['n']:,}",
        "best head": head,
        "attention": write_interval(row, "value", ".1f", 100),
        "fixed distance": f"{row['offset']:+d}",
        "at that distance": write_interval(row, "by_offset", ".1f", 100),
        "difference": write_interval(row, "beyond", "+.1f", 100),
    }


def take_trained(heads: pd.DataFrame) -> pd.DataFrame:
    """The rows of the model; a table without this column has no others."""
    return heads[~heads["model"].isin(TWINS)] if "model" in heads else heads


def relation_squares(examined_heads: pd.DataFrame) -> Squares:
    """A row a site, a column a head, in the color of the relation that the head follows clearly, darker the more often; of the
    rows of :func:`score_heads` those of the model, not of its baselines.
    """
    heads = take_trained(examined_heads)
    follows = heads["beyond_low"] > MARGIN
    frequent = heads.loc[follows, "relation"].value_counts().index[:MAX_COLORS]
    names = (
        heads["relation"].where(heads["relation"].isin(frequent), OTHER_RELATION).where(follows, "")
    )
    grouped = heads.assign(group=names, share=heads["value"].where(follows))
    wide = grouped.pivot(index="site", columns="head", values=["group", "share"])
    wide = wide.reindex(heads["site"].unique())
    shares = wide["share"].to_numpy(float)
    texts = np.where(np.isnan(shares), "", np.char.mod("%.0f", 100 * np.nan_to_num(shares)))
    rows, columns = [*map(site_label, wide.index)], [*map(str, wide["share"].columns)]
    groups = wide["group"].fillna("").to_numpy(object)
    note = "\n".join(filter(None, [examined_heads.attrs.get("origin"), SQUARES_NOTE]))
    ends = {"value_low": "low", "value_high": "high"}
    marks = heads.rename(columns=ends).assign(layer=heads["site"].map(layer_of))
    marks = marks.reindex(
        columns=["site", "layer", "head", "relation", "value", "low", "high", *BEYOND]
    )
    kind = "word" if heads["relation"].str.endswith(" word").any() else "token"
    patterns = [f"{pattern} {kind}" for pattern in PATTERNS]  # of one color in all figures
    order = [*dict.fromkeys([*patterns, *frequent, OTHER_RELATION])]
    look: Any = {
        "groups": groups,
        "order": order,
        "gray": FIRST,
        "note": note,
        "told": groups + ", " + texts.astype(object) + "\u00a0%",
        "marks": marks.reset_index(drop=True),
    }
    return Squares(shares, rows, columns, ("", "head"), texts, **look)


def find_clearest(examined_decoder: pd.DataFrame) -> pd.Series:
    """The head of the model that looks most surely at a place of the source more often than by chance."""
    heads = take_trained(examined_decoder)
    return heads.sort_values(["beyond_low", "n"], ascending=False, kind="stable").iloc[0]


def place_squares(examined_decoder: pd.DataFrame) -> Squares:
    """The mean map of the clearest head (``attrs``: map), a row a place of the output, a column one of the source."""
    best, values = find_clearest(examined_decoder), examined_decoder.attrs["map"]
    rows, columns = ([*map(str, range(1, n + 1))] for n in values.shape)
    texts = np.where(values < MIN_WEIGHT, "", np.char.mod("%.0f", 100 * values))
    title = site_label(best["site"], best["head"])
    note = "\n".join(
        [*filter(None, [examined_decoder.attrs.get("origin")]), MAP_NOTE.format(*values.shape)]
    )
    return Squares(
        values, rows, columns, ("output place", "source place"), texts, title=title, note=note
    )
