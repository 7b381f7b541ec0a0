"""Attention: any head on any sample, whole, row by row, and beside all other heads."""

import linked
import numpy as np
import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Attention")
def attention() -> None:
    store, views = state.store(), tp.dashboard
    choices = views.choices
    sites = choices.list_maps(store)
    if not sites:
        st.info(
            "This store keeps no attention maps: extract it again with `--attention-samples` and their number. A model "
            "without attention, such as TPGN, has none."
        )
        st.stop()
    told = state.tell_attention(state.root(), state.store_name())
    named = told.links[0].query  # what the first line names is shown first
    parts.lead(told)
    with parts.controls():
        first = sites.index(named["maps"])
        site = st.selectbox("Sub-layer", sites, first, key="maps", **state.KEEP)
        heads = range(choices.count_heads(store, site))
        first = int(named["head"]) if site == named["maps"] else 0
        head = st.selectbox("Head", heads, first, key="head", **state.KEEP)
    kept = store.count_maps(site)
    sample = state.choose_sample(kept)
    maps = views.read_maps(store, site, sample)
    roles = choices.role_beside(store, site)
    k = st.session_state.get("k", 20)
    scene = state.scene(roles, head, k) if roles else None
    mark = state.mark()
    clusters = marked = None
    if scene is not None:
        clusters = choices.label_queries(scene, maps)
        marked = choices.find_queries(scene, maps, clusters, mark)

    def of_tokens(selection):
        """The mark of tokens along either axis, where both are the same tokens."""
        tokens = [p["point_index"] for p in selection.points if p["curve_number"] in (0, 1)]
        inside = [i for box in selection.box for i in choices.tokens_in(maps, box["x"], box["y"])]
        return views.selection.mark_rows(
            maps.queries["row"].to_numpy()[np.array(tokens + inside, int)], maps.side
        )

    dark = state.is_dark()
    with st.container(key="pair"):
        left, right = st.columns(2)
    with left:
        chart = views.show_matrix(store, maps, head, clusters, marked, dark)
        state.show(chart, "matrix", of_tokens)
    with right:
        state.show(
            views.attention.show_grid(store, choices.like(sites, site), sample, dark), "grid"
        )
        state.tell_mark(mark, marked)
    tokens = [
        f"{i} {views.safe_text.visible(token)}" for i, token in enumerate(maps.queries["token"])
    ]
    chosen = choices.first_queries(store, maps, marked)
    queries = range(len(tokens))
    rows = st.multiselect("Queries, row by row", queries, chosen, format_func=tokens.__getitem__)
    if rows:
        linked.show_rows(store, maps, head, rows[:8])
    if scene is None:
        linked.feed_mark(mark)
        return
    place = linked.Place(state.root(), state.store_name(), (roles, head, k, "pca"))
    place.show_strips([sample], mark)
    place.feed_points()
    linked.feed_mark(mark)
    if "names" in vars(
        scene
    ):  # known of Roles: finding them takes longer than somebody here should wait
        place.feed_names()
