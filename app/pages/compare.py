"""Compare: two stores side by side on the same samples."""

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp


@state.page("Compare")
def compare() -> None:
    runs, first = state.runs(), state.store_name()
    views, contents = tp.dashboard, tp.dashboard.contents
    others = [each for each in (*runs.names("control"), *runs.names("store")) if each != first]
    if not others:
        st.info("There is no other store to compare with.")
        return
    lead = st.container()
    with widgets.controls():
        alike = state.once(lambda: views.folders.rank_alike(runs, first, others), "alike")
        second = widgets.choose("With", others, "with", others.index(alike[0]))
        names = (first, second)
        stores = [state.open_store(state.root(), name) for name in names]
        sites = [contents.list_vectors(store) for store in stores]
        site = widgets.choose("Site", sites[0], "site", contents.first_role(sites[0]))
        at = sites[1].index(site) if site in sites[1] else contents.first_role(sites[1])
        other = widgets.choose("Site of the second", sites[1], "other", at)
        heads = range(contents.count_heads(stores[0], site))
        head = widgets.choose("Head", heads, "head") if heads else 0
        k = widgets.choose_count()
    pairs = views.comparison.match_samples(*stores)
    places = [
        canvas.Place(state.root(), name, (of, contents.find_head(store, of, head), k, "pca"))
        for name, store, of in zip(names, stores, (site, other), strict=True)
    ]
    scenes = [each.scene() for each in places]
    agreement = views.show_agreement(*scenes, pairs)
    with lead:
        widgets.lead(views.comparison.summarize_agreement(agreement.data, scenes, names))
    widgets.show(agreement, "agreement")
    pair = pairs.iloc[widgets.choose_sample(stores[0], len(pairs), search=False)]
    mark = state.mark()
    st.subheader(state.escape(first))
    places[0].show_strips([int(pair["first"])], mark)
    st.subheader(state.escape(second))
    places[0].show_beside(scenes, int(pair["first"]), int(pair["second"]))
    places[0].feed_points()
    canvas.feed_mark(mark)
    places[0].feed_names()
