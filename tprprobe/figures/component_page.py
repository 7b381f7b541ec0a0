"""Sections of a model's page on its decoder, on its roles, and on what is not asked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.cross_places import mean_map
from tprprobe.analyses.attention.head_patterns import MARGIN
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.naming.fields import count_places
from tprprobe.analyses.naming.name_counts import (
    TRAINED,
    count_by_model,
    find_most_named,
    select_named,
    state_names,
)
from tprprobe.figures.clusters import explain_ends, text_strips
from tprprobe.figures.dots import render
from tprprobe.figures.heads import find_clearest, place_squares
from tprprobe.figures.labels import site_label
from tprprobe.figures.report.sections import Section
from tprprobe.figures.tables import write_minus
from tprprobe.statistics import Row, write_interval
from tprprobe.store.layout import TWINS

N_LISTED, SMALL = 6, 0.01  # relations of a sentence; a share that is not written as 0 %
BEYOND = f"by {100 * MARGIN:.0f} percentage points or more"
DECODER = "Where does its decoder look?"
ROLES = "What are its roles?"


def top(rows: pd.DataFrame, name: str) -> pd.Series:
    """The row with the largest value of a column."""
    return rows.iloc[int(np.nanargmax(rows[name].to_numpy(float)))]


def percent(row: Row, name: str, digits: int = 0) -> str:
    """A score and its interval in percent."""
    return write_interval(row, name, f".{digits}f", 100, "\u00a0%")


def describe_rival(row: Row) -> str:
    """The stronger control of a head: a random choice, or the fixed distance that was best on the other texts."""
    is_chance = np.isnan(row["by_offset"])
    share = row["chance" if is_chance else "by_offset"]
    rival = "for a random choice" if is_chance else f"at the fixed distance {int(row['offset']):+d}"
    return f"{'less than 1' if 0 < share < SMALL else f'{100 * share:.0f}'}\u00a0% {rival}"


def list_relations(relations: "pd.Series[str]") -> str:
    """The most frequent relations, and how many heads follow each of them."""
    counts = relations.value_counts()
    names = [f"{relation} ({n})" for relation, n in counts.iloc[:N_LISTED].items()]
    n_others = int(counts.iloc[N_LISTED:].sum())
    return ", ".join([*names, *([f"others ({n_others})"] if n_others else [])])


def show_decoder(table: pd.DataFrame, subject: Any) -> Section:
    """The clearest head of cross-attention, and its mean map over places."""
    is_real, is_clear = table["model"] == TRAINED, table["beyond_low"] > MARGIN
    best, n = find_clearest(table), int((is_clear & is_real).sum())
    text = (
        f"On {subject.store.facts.attention_samples} of the texts, {n} of {is_real.sum()} heads of cross-attention look{'s' * (n == 1)} at one place of the source for a place of the output more often than "
        f"chance, {BEYOND} ({(is_clear & ~is_real).sum()} in the baseline model)."
    )
    if n:
        where = site_label(best["site"], best["head"])
        text += f" Clearest is {where}: it looks most at source {best['relation']}, in {percent(best, 'value')} of {best['n']:,} cases, against {describe_rival(best)}."
    table.attrs["map"] = mean_map(subject.store, best["site"], int(best["head"]))
    scene = place_squares(table)
    deeper = f"tprprobe app {subject.folder}    # page Attention"
    figures = {write_minus(scene.note): render(replace(scene, note=""))}
    return Section(DECODER, text, figures, deeper=deeper, name="decoder")


def count_clusters(
    counts: Mapping[str, tuple[int, int]], places: Mapping[str, int], where: str
) -> str:
    """How many clusters have a name, and how many names say where a token stands, beside the baseline model's."""
    named, n = counts[TWINS[0]]
    text = f"{state_names(counts, where)} ({named} of {n} in the baseline model)"
    if n_places := places[TRAINED]:
        says = "says" if n_places == 1 else "say"
        text += f"; {n_places} of the names {says} where a token stands ({places[TWINS[0]]} in the baseline model)"
    return f"{text}."


def show_roles(table: pd.DataFrame, subject: Any) -> Section:
    """How many clusters of roles have a name in the model and its baseline, and the head with the most names on some texts."""
    site, seed = str(table["site"].iloc[0]), subject.seed
    real = table[table["model"] == TRAINED]
    head = int(find_most_named(real, ["head"])["head"])
    rows = real[real["head"] == head]
    named = select_named(rows)
    n_heads, k = real["head"].nunique(), len(rows)
    layer = site_label(site).removesuffix(", role")
    place = f"roles at {layer} ({n_heads} heads, {k} clusters each)"
    by_model = table.groupby("model", sort=False)["name"]
    places = {str(model): count_places(names) for model, names in by_model}
    text = count_clusters(count_by_model(table), places, place)
    if len(named):
        best = top(named, "f05")
        text += (
            f" Head {head} has most tokens in clusters with a name ({len(named)} of {k}); the clearest is “{best['name']}” (precision {percent(best, 'precision')}, "
            f"recall {percent(best, 'recall')})."
        )
    clusters = cluster(subject.store, site, head, k=k, seed=seed)
    labels = dict(zip(named["cluster"].astype(int), named["name"], strict=True))
    figure = render(text_strips(subject.store, clusters, labels))
    note = f"{explain_ends(subject.store)}The roles of head {head}; the number of its group stands under every token."
    deeper = f"tprprobe name {subject.store.path} --site {site} --k {k} --seed {seed}"
    return Section(ROLES, text, {note: figure}, deeper=deeper, name="roles")
