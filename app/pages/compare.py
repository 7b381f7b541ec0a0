"""Compare: two stores side by side on the same samples."""

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp


@state.page("Compare")
def compare() -> None:
    runs, name = state.runs(), state.store_name()
    views, contents = tp.dashboard, tp.dashboard.contents
    list_others = lambda: views.folders.list_comparable(runs, name)  # noqa: E731
    candidates = state.once(list_others, "comparable")
    if not candidates:
        st.info("There is no other store of the same data to compare with.")
        return
    lead = st.container()
    with widgets.controls():
        names = (name, widgets.choose("With", candidates, "with"))
        stores = [state.open_store(state.root(), name) for name in names]
        sites = [contents.list_vectors(store) for store in stores]
        if not all(sites):
            st.info("One of these stores holds no vectors: choose another.")
            return
        site = widgets.choose_site("Site", sites[0], "site", contents.first_role(sites[0]))
        index = sites[1].index(site) if site in sites[1] else contents.first_role(sites[1])
        second_site = widgets.choose_site("Site of the second", sites[1], "other", index)
        heads = range(contents.count_heads(stores[0], site))
        head = widgets.choose("Head", heads, "head") if heads else 0
        k = widgets.choose_count()
    pairs = views.comparison.match_samples(*stores)
    places = []
    for label, store, place in zip(names, stores, (site, second_site), strict=True):
        n_heads = contents.count_heads(store, place)
        options = (place, min(head, n_heads - 1) if n_heads else None, k, "pca")
        places.append(canvas.Place(state.root(), label, options))
    scene, second_scene = (place.scene() for place in places)
    renumber = lambda: views.comparison.renumber_clusters(scene, second_scene, pairs)  # noqa: E731
    scenes = [scene, state.once(renumber, "renumbered", *map(repr, places))]
    agreement = views.comparison.show_agreement(*scenes, pairs)
    with lead:
        widgets.lead(views.comparison.summarize_agreement(agreement.data, scenes, names))
    widgets.show(agreement, "agreement")
    second_of = dict(zip(pairs["first"].tolist(), pairs["second"].tolist(), strict=True))
    [sample] = widgets.choose_samples(stores[0], sorted(second_of))
    mark = state.mark(name, site, head, k, "pca")
    samples = (sample, second_of[sample])
    st.subheader(state.escape(names[0]))
    places[0].show_strips(samples[:1], mark)
    st.subheader(state.escape(names[1]))
    places[0].show_pair(scenes, samples)
    places[0].feed_points()
    canvas.feed_mark(mark)
