"""Roles: the map of a site's vectors, its clusters with names from any labels, and strips of tokens, all linked."""

import linked
import parts
import state
import streamlit as st

import tprprobe as tp

METHODS = {"pca": "PCA", "linear": "linear (parts the clusters)", "umap": "UMAP"}


@state.page("Roles")
def roles() -> None:
    store, views = state.store(), tp.dashboard
    choices, sites = views.choices, views.choices.list_vectors(store)
    if not sites:
        st.info("This store holds no vectors.")
        return
    lead = st.container()
    with parts.controls():
        site = parts.choose("Site", sites, "site", choices.first_role(sites))
        heads, head = choices.count_heads(store, site), None
        if heads:
            head = parts.choose("Head", range(heads), "head", width=110)
        k = st.number_input("Clusters", 2, 60, 20, key="k", width=130, **state.KEEP)
        method = parts.choose("Map", METHODS, "map", format_func=METHODS.__getitem__)
        given = (site, head, int(k), method)
        scene = state.scene(*given)
        alike, layer = choices.like(sites, site), views.colourings.LAYER
        fields = views.colourings.list_fields(scene) + [layer] * (len(alike) > 1)
        field = parts.choose("Colour", fields, "colour")
    is_stacked = field == layer and len(alike) > 1
    place = linked.Place(
        state.root(), state.store_name(), given, tuple(alike) if is_stacked else ()
    )
    drawn, mark = place.scene(), state.mark()
    title = f"{drawn.place}, coloured by {field}"
    parts.titled(
        title,
        lambda: views.show_map(drawn, field, mark and mark.find(drawn), state.is_dark()),
        "map",
    )
    place.show_map(field)
    note = st.container()
    first = parts.choose_sample(store, store.samples)
    place.show_strips(range(first, min(first + 4, store.samples)), mark)
    below = st.container()
    place.feed_points()
    linked.feed_mark(mark)
    place.feed_names()
    with lead:
        parts.lead(views.headlines.tell_roles(scene))
    whole = place.scene(whole=True) if field == views.colourings.CLUSTER else scene
    if whole is not scene:  # other colors are of the sample that is drawn first
        place.feed_points(whole=True)
    note.caption(state.escape((drawn if is_stacked else whole).note))
    if mark is not None:
        marked = mark.find(whole)
        below.markdown(f"**Marked tokens** ({int(marked.sum()):,})")
        below.dataframe(views.tables.token_table(whole, marked), hide_index=True)
    if heads and method != "umap":
        linked.foresee(place, heads)
