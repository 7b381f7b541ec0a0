"""Roles: the map of a site's vectors, its clusters with names from any labels, and strips of tokens, all linked."""

from dataclasses import replace

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp

METHODS = {"pca": "PCA", "linear": "linear (separates the clusters)", "umap": "UMAP"}
MAX_STRIPS = 4  # samples


def _go(table, key: str) -> None:
    for row in st.session_state[key].selection.rows:
        st.session_state["sample"] = int(table["sample"].iloc[row])


def _bring_marked(samples, mark) -> None:
    """Shows the first sample with a marked token, once for every mark, if no strip has one."""
    sample, is_known = st.session_state.get("sample", 0), st.session_state.get("brought") == mark
    st.session_state["brought"] = mark
    if not is_known and len(samples) and not samples.between(sample, sample + MAX_STRIPS - 1).any():
        st.session_state["sample"] = int(samples.min())


def _show_names() -> None:
    """What finished runs of `name` say of the clusters of all heads, or a button that starts one."""
    kinds = ("names", "word-names")
    if folders := state.runs().beside(state.store(), *kinds):
        views = tp.dashboard.names  # with matplotlib
        st.subheader("Names of clusters")
        run = widgets.choose("Run", list(folders), "names")
        clusters = state.once(lambda: views.load_named(folders[run]), "names", run)
        view = views.show_names(clusters)
        widgets.write(views.summarize_names(clusters))
        if view.data["value"].any():
            widgets.show(view, "chart-names")
        if "candidate" in clusters:
            draw = lambda: widgets.table(views.words_table(clusters).cells)  # noqa: E731
            widgets.fold("Proposed names", "proposed", draw)
    else:
        widgets.offer_runs("names")
    widgets.list_unclaimed(*kinds)


@state.page("Roles")
def roles() -> None:
    store, views, contents = state.store(), tp.dashboard, tp.dashboard.contents
    sites = contents.list_vectors(store)
    if not sites:
        st.info("This store holds no vectors.")
        return
    lead = st.empty()
    with widgets.controls():
        site = widgets.choose_site("Site", sites, "site", contents.first_role(sites))
        heads = contents.count_heads(store, site)
        head = widgets.choose("Head", range(heads), "head") if heads else None
        k = widgets.choose_count()
        method = widgets.choose("Map", METHODS, "map", format_func=METHODS.__getitem__)
        scene = state.build_scene(state.root(), state.store_name(), site, head, k, method)
        with lead.container():  # the baseline model is clustered after the page stands there
            widgets.lead(views.scene.summarize_roles(scene, compare=scene.is_compared))
        field = widgets.choose("Color", scene.list_fields(), "color")
    where = state.where(store.side(site))
    place = canvas.Place(state.root(), state.store_name(), (site, head, k, method), where)
    cloud, mark = place.scene(), state.mark(state.store_name(), site, head or 0, k, method)
    marked = mark and mark.find(cloud)
    title = f"{cloud.place}, colored by {field}" + f", tokens of {where}" * bool(where)
    draw = lambda: replace(views.show_map(cloud, field, marked), title=title)  # noqa: E731
    widgets.head(title, draw, "map")
    place.show_map(field)
    note = st.container()
    if marked is not None:
        _bring_marked(cloud.tokens.loc[marked, "sample"], mark)
    place.show_strips(widgets.choose_samples(store, range(store.samples), MAX_STRIPS), mark, field)
    below = st.container()
    place.feed_points()
    canvas.feed_mark(mark)
    complete = place.scene(complete=True) if field == views.maps.CLUSTER else cloud
    if len(complete.rows) > len(cloud.rows):  # other colors are of the sample that is drawn first
        place.feed_points(complete=True)
    sliced = f"{len(complete.rows):,} tokens of {where}; in strips, others are dimmed"
    note.caption(state.escape(sliced if where else complete.note))
    if mark is not None:
        flags = mark.find(complete)
        table = views.marks.list_marked(complete, flags)
        below.markdown(f"**Marked tokens** ({int(flags.sum()):,}): choose a row to see its sample")
        look = {"hide_index": True, "selection_mode": "single-row", "key": f"marked-{mark}"}
        below.dataframe(table, on_select=lambda: _go(table, f"marked-{mark}"), **look)
    _show_names()
    if not scene.is_compared:
        with lead.container():
            widgets.lead(views.scene.summarize_roles(scene))
