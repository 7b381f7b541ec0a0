"""Roles: the map of one head's vectors, its clusters, and strips of tokens, all linked."""

import numpy as np
import state
import streamlit as st

import tprprobe as tp

NUMBERS = {name: st.column_config.NumberColumn(format="%.2f") for name in ("precision", "recall")}
METHODS = {"pca": "PCA", "linear": "linear (parts the clusters)", "umap": "UMAP"}


@state.page("Roles")
def roles() -> None:
    store, views = state.store(), tp.views
    choices, marks = views.choices, views.selection
    sites = choices.list_vectors(store)
    if not sites:
        st.info("This store holds no vectors.")
        st.stop()
    with st.container(horizontal=True):
        site = st.selectbox("Site", sites, choices.first_role(sites), key="site", **state.KEEP)
        heads = choices.count_heads(store, site)
        head = st.selectbox("Head", range(heads), key="head", **state.KEEP) if heads else None
        k = st.number_input("Clusters", 2, 60, 20, key="k", **state.KEEP)
        method = st.selectbox("Map", METHODS, key="map", format_func=METHODS.get, **state.KEEP)
        scene = state.scene(site, head, k, method)
        alike, layer = choices.like(sites, site), views.colourings.LAYER
        fields = views.colourings.list_fields(scene) + [layer] * (len(alike) > 1)
        field = st.selectbox("Colour", fields, key="colour", **state.KEEP)
    mark = state.mark()
    marked = mark.find(scene) if mark else None

    def of_map(selection):
        """The mark of a box, a lasso or points of the map."""
        for area, kind in ((selection.lasso, "lasso"), (selection.box, "box")):
            if area:
                return marks.mark_area(scene, np.stack([area[0]["x"], area[0]["y"]], 1), kind)
        return marks.mark_rows(scene.rows[[p["point_index"] for p in selection.points]], scene.side)

    def of_clusters(selection):
        return marks.mark_clusters([int(table["cluster"].iloc[row]) for row in selection.rows])

    def of_strips(selection):
        cells = [p["point_index"] for p in selection.points if not p["curve_number"]]
        return marks.mark_rows(strips.data["row"].to_numpy()[cells], scene.side)

    left, right = st.columns([3, 2])
    with left:
        if field == layer and len(alike) > 1:
            every = state.layers(site, head, k, method, tuple(alike))
            found = mark and np.isin(every.rows, scene.rows[marked])
            state.show(views.show_map(every, field, found, state.is_dark()), "layers")
        else:
            state.show(views.show_map(scene, field, marked, state.is_dark()), "map", of_map)
    with right:
        st.markdown("**Clusters**")
        table, key = views.inventory.cluster_table(scene), state.key_of("clusters")
        react = state.marked_by(key, of_clusters)
        given = {"hide_index": True, "column_config": NUMBERS}
        st.dataframe(table, height=470, key=key, on_select=react, **given)
        state.tell_mark(mark, marked)
    first = state.choose_sample(store.samples)
    count = min(4, store.samples - first)
    strips = views.show_strips(scene, range(first, first + count), mark, state.is_dark())
    state.show(strips, "strips", of_strips)
    if marked is not None:
        st.markdown("**Marked tokens**")
        st.dataframe(views.inventory.token_table(scene, marked), hide_index=True)
