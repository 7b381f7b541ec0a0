"""Roles: the map of one head's vectors, its clusters, and strips of tokens, all linked."""

import linked
import parts
import state
import streamlit as st

import tprprobe as tp

METHODS = {"pca": "PCA", "linear": "linear (parts the clusters)", "umap": "UMAP"}


@state.page("Roles")
def roles() -> None:
    store, views, name = state.store(), tp.dashboard, state.store_name()
    choices, root, dark = views.choices, state.root(), state.is_dark()
    sites = choices.list_vectors(store)
    if not sites:
        st.info("This store holds no vectors.")
        st.stop()
    lead = st.container()
    with parts.controls():
        site = st.selectbox("Site", sites, choices.first_role(sites), key="site", **state.KEEP)
        heads = choices.count_heads(store, site)
        head = None
        if heads:
            head = st.selectbox("Head", range(heads), key="head", width=110, **state.KEEP)
        k = st.number_input("Clusters", 2, 60, 20, key="k", width=130, **state.KEEP)
        method = st.selectbox(
            "Map", METHODS, key="map", format_func=METHODS.__getitem__, **state.KEEP
        )
        given = (site, head, int(k), method)
        scene = state.scene(*given)
        alike, layer = choices.like(sites, site), views.colourings.LAYER
        fields = views.colourings.list_fields(scene) + [layer] * (len(alike) > 1)
        field = st.selectbox("Colour", fields, key="colour", **state.KEEP)
    is_stacked = field == layer and len(alike) > 1
    place = linked.Place(root, name, given, tuple(alike) if is_stacked else ())
    drawn, mark = place.scene(), state.mark()
    with state.titled(f"{drawn.place}, coloured by {field}"):
        state.offer(lambda: views.show_map(drawn, field, mark and mark.find(drawn), dark), "map")
        state.offer(lambda: views.tables.show_clusters(scene), "clusters", "Clusters as ")
    place.show_map(field)
    note = st.container()
    first = state.choose_sample(store.samples)
    place.show_strips(range(first, min(first + 4, store.samples)), mark)
    below = st.container()
    place.feed_points()
    linked.feed_mark(mark)
    place.feed_names()
    with lead:
        parts.lead(views.headlines.tell_roles(scene))
    whole = scene
    if field == views.colourings.CLUSTER:  # other colors are of the sample that is drawn first
        whole = place.scene(whole=True)
    if whole is not scene:
        place.feed_points(whole=True)
    note.caption(state.escape((drawn if is_stacked else whole).note))
    if mark is not None:
        marked = mark.find(whole)
        below.markdown(f"**Marked tokens** ({int(marked.sum()):,})")
        below.dataframe(views.tables.token_table(whole, marked), hide_index=True)
    if heads and method != "umap":
        linked.foresee(place, heads)
