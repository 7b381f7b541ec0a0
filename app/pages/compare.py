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
        st.stop()
    default = f"{first}/untrained"
    lead = st.container()
    with parts.controls():
        at = others.index(default) if default in others else 0
        second = st.selectbox("With", others, at, key="with", **state.KEEP)
        stores = [state.open_store(state.root(), name) for name in (first, second)]
        sites = [choices.list_vectors(store) for store in stores]
        site = st.selectbox(
            "Site", sites[0], choices.first_role(sites[0]), key="site", **state.KEEP
        )
        at = sites[1].index(site) if site in sites[1] else choices.first_role(sites[1])
        other = st.selectbox("Site of the second", sites[1], at, key="other", **state.KEEP)
        heads = range(max(choices.count_heads(stores[0], site), 1))
        head = st.selectbox("Head", heads, key="head", **state.KEEP)
        k = st.number_input("Clusters", 2, 60, 20, key="k", **state.KEEP)
    pairs = views.comparison.match_samples(*stores)
    scenes = [
        state.build_scene(state.root(), name, at, choices.find_head(store, at, head), k, "pca")
        for name, store, at in zip((first, second), stores, (site, other), strict=True)
    ]
    agreement = views.show_agreement(*scenes, pairs, dark)
    with lead:
        parts.lead(views.headlines.tell_agreement(agreement.data, scenes, (first, second)))
    state.show(agreement, "agreement")
    number = state.choose_sample(len(pairs))
    pair = pairs.iloc[number]
    mark = state.mark()
    place = linked.Place(
        state.root(), first, (site, choices.find_head(stores[0], site, head), k, "pca")
    )
    st.subheader(state.escape(first))
    place.show_strips([int(pair["first"])], mark)
    tokens = views.show_strips(scenes[0], [int(pair["first"])], mark)
    state.tell_mark(mark, tokens.data["marked"])
    st.subheader(state.escape(second))
    place.show_beside(scenes, int(pair["first"]), int(pair["second"]), tokens)
    place.feed_points()
    linked.feed_mark(mark)
    place.feed_names()
    with st.container(key="pair"):
        left, right = st.columns(2)
    for column, store, name, sample in zip(
        (left, right), stores, (first, second), (pair["first"], pair["second"]), strict=True
    ):
        maps = [each for each in choices.list_maps(store) if store.count_maps(each) > sample]
        if maps:
            at = maps[choices.first_map(maps)]
            found = views.read_maps(store, at, int(sample))
            with column:
                shown = min(head, len(found.weights) - 1)
                state.show(views.show_matrix(store, found, shown, dark=dark), f"maps-{name}")
