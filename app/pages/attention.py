"""Attention: which head follows a relation, any head's map with lines between words, and all heads of a sample."""

from dataclasses import replace

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp
from tprprobe.dashboard.statements import Link

ALL = "all relations"
NOTHING = "This store has no attention maps. If its model has attention, its data can be read again: into a new store, with maps of all heads and the sites of this one."
IMPORTED = "These vectors were imported without attention maps. Import arrays whose names end in `.attention`."
CLICK = "Click a square: that head is shown below, on one sample."
HALVES = " Squares are of both halves of the documents: another head may be highest."
OWN = "Maps of another text, on Ask"


def _show_heads(store, sites, sample: int, choice) -> None:
    views = tp.dashboard.attention
    widgets.head("All heads", lambda: views.show_grid(store, sites, sample), "grid")
    weights = {site: views.read_maps(store, site, sample).weights for site in sites}
    st.caption(widgets.AXES)
    ramp = tp.figures.theme.find_theme(state.is_dark()).scale
    canvas.offer_picks("every-head", views.pack_heads(weights), **choice, ramp=ramp, look="shown")


@state.page("Attention")
def attention() -> None:
    store, views, dark = state.store(), tp.dashboard.attention, state.is_dark()
    sites = tp.dashboard.contents.list_maps(store)
    if not sites:
        if "imported" in store.manifest:
            st.info(IMPORTED)
        else:
            widgets.offer_runs("attention", why=NOTHING)
        return
    lead, followed = st.container(), state.once(lambda: views.follow(store), "followed")
    with widgets.controls():
        relations = [] if followed is None else views.list_relations(followed)
        label = widgets.choose("Relation", [ALL, *relations], "relation") if relations else ALL
        relation = "" if label == ALL else label
        score = lambda: views.score_attention(store, followed, relation)  # noqa: E731
        scores = state.once(score, "heads", relation)
        best_head = state.once(lambda: views.pick_head(followed, relation), "picked", relation)
        summary = views.summarize_attention(store, scores, best_head)
        best = summary.links[0].query  # what the first line names is shown first
        site = widgets.choose_site("Sub-layer", sites, "maps", sites.index(best["maps"]))
        heads = range(tp.dashboard.contents.count_heads(store, site))
        index = int(best["head"]) if site == best["maps"] else 0
        head = widgets.choose("Head", heads, "head", index)
    with lead:
        widgets.lead(replace(summary, links=(*summary.links, Link(OWN, "ask"))))
    follows = scores["follows"].iloc[0] if "follows" in scores else ""
    measure = follows or f"Mean {views.name_weight(site)}"
    title = f"{measure[0].upper()}{measure[1:]}: percent by head"
    widgets.head(title, lambda: views.show_heads(scores, title), "heads")
    squares = views.pack_scores(scores, dark)
    choice = {"hear": canvas.choose_head, "picked": f"{site}:{head}", "one": True}
    advice = CLICK + HALVES * (best_head is not None)
    canvas.offer_picks("scored-heads", squares, **choice, look="squares", advice=advice)
    [sample] = widgets.choose_samples(store, range(store.count_maps(site)))
    maps = views.read_maps(store, site, sample)
    canvas.show_head(store, maps, head)
    canvas.feed_mark(state.mark())
    alike = tp.dashboard.contents.like(sites, site)
    label = f"All heads of {len(alike)} layers on this sample"
    widgets.fold(label, "heads", lambda: _show_heads(store, alike, sample, choice))
    widgets.fold("All numbers", "numbers", lambda: widgets.table(scores))
