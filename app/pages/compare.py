"""Compare: two stores side by side on the same samples."""

import linked
import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Compare")
def compare() -> None:
    runs, first, views, dark = state.runs(), state.store_name(), tp.dashboard, state.is_dark()
    choices = views.choices
    others = [each for each in (*runs.names("control"), *runs.names("store")) if each != first]
    if not others:
        st.info("There is no other store to compare with.")
        return
    lead = st.container()
    with parts.controls():
        at = next((i for i, each in enumerate(others) if each.startswith(f"{first}/")), 0)  # a twin
        second = parts.choose("With", others, "with", at)
        stores = [state.open_store(state.root(), name) for name in (first, second)]
        sites = [choices.list_vectors(store) for store in stores]
        site = parts.choose("Site", sites[0], "site", choices.first_role(sites[0]))
        at = sites[1].index(site) if site in sites[1] else choices.first_role(sites[1])
        other = parts.choose("Site of the second", sites[1], "other", at)
        heads = range(choices.count_heads(stores[0], site))
        head = parts.choose("Head", heads, "head") if heads else 0
        k = st.number_input("Clusters", 2, 60, 20, key="k", **state.KEEP)
    pairs = views.comparison.match_samples(*stores)
    scenes = [
        state.build_scene(state.root(), name, at, choices.find_head(store, at, head), k, "pca")
        for name, store, at in zip((first, second), stores, (site, other), strict=True)
    ]
    agreement = views.show_agreement(*scenes, pairs, dark)
    with lead:
        parts.lead(views.headlines.tell_agreement(agreement.data, scenes, (first, second)))
    parts.show(agreement, "agreement")
    pair = pairs.iloc[parts.choose_sample(stores[0], len(pairs), search=False)]
    mark = state.mark()
    place = linked.Place(
        state.root(), first, (site, choices.find_head(stores[0], site, head), k, "pca")
    )
    st.subheader(state.escape(first))
    place.show_strips([int(pair["first"])], mark)
    st.subheader(state.escape(second))
    place.show_beside(scenes, int(pair["first"]), int(pair["second"]))
    place.feed_points()
    linked.feed_mark(mark)
    place.feed_names()
