"""Attention: which head follows a relation, any head's map with lines between words, and all heads of a sample."""

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp

ALL = "all relations"
NOTHING = "This store has no attention maps. If its model attends, extract it again with `--attention-samples N`."
THEIRS = "These vectors were imported without attention maps. Import arrays whose names end in `.attention`."
CLICK = "Click a square: that head is shown below."
SHARP = "Mean largest weight of every head, in percent"


def _show_heads(store, sites, sample: int, chosen: str) -> None:
    views = tp.dashboard.attention
    widgets.head("All heads", lambda: views.show_grid(store, sites, sample), "grid")
    every = {each: views.read_maps(store, each, sample).weights for each in sites}
    ramp = tp.dashboard.theme.look(state.is_dark()).scale
    canvas.offer_heads("every-head", views.pack_heads(every), chosen, ramp=ramp, look="shown")


@state.page("Attention")
def attention() -> None:
    store, views, dark = state.store(), tp.dashboard.attention, state.is_dark()
    sites = tp.dashboard.contents.list_maps(store)
    if not sites:
        st.info(THEIRS if "imported" in store.manifest else NOTHING)
        return
    lead, followed = st.container(), state.once(lambda: views.follow(store), "followed")
    with widgets.controls():
        known = [] if followed is None else views.list_relations(followed)
        relation = widgets.choose("Relation", [ALL, *known], "relation") if known else ALL
        asked = "" if relation == ALL else relation
        scores = state.once(lambda: views.score_attention(store, followed, asked), "heads", asked)
        told = views.summarize_attention(scores)
        named = told.links[0].query  # what the first line names is shown first
        site = widgets.choose("Sub-layer", sites, "maps", sites.index(named["maps"]))
        heads = range(tp.dashboard.contents.count_heads(store, site))
        first = int(named["head"]) if site == named["maps"] else 0
        head = widgets.choose("Head", heads, "head", first)
    with lead:
        widgets.lead(told)
    follows = scores["follows"].iloc[0] if "follows" in scores else ""
    title = f"Percent by head: {follows}" if follows else SHARP
    widgets.head(title, lambda: views.show_heads(scores, title), "heads")
    chosen, squares = f"{site}:{head}", views.pack_scores(scores, dark)
    canvas.offer_heads("scored-heads", squares, chosen, look="squares", advice=CLICK)
    sample = widgets.choose_sample(store, store.count_maps(site))
    maps = views.read_maps(store, site, sample)
    title = f"{site}, head {head}, sample {sample}"
    widgets.head(title, lambda: views.show_matrix(store, maps, head), "matrix")
    canvas.mount("attend", "linked-attend", views.pack_attention(store, maps, head, dark))
    canvas.feed_mark(state.mark())
    alike = tp.dashboard.contents.like(sites, site)
    told = f"All heads of {len(alike)} layers on this sample"
    widgets.fold(told, "heads", lambda: _show_heads(store, alike, sample, chosen))
    widgets.fold("All numbers", "numbers", lambda: widgets.table(scores))
