"""Ask: a question to the model of the store, and what it attends to while it answers."""

import state
import streamlit as st

import tprprobe as tp


@state.page("Ask")
def ask() -> None:
    store, views, dark = state.store(), tp.views, state.is_dark()
    choices = views.choices
    folder = views.model_card.find_checkpoint(state.runs(), store)
    if folder is None:
        st.info(
            "The model of this store is neither shipped nor below the folder: put its checkpoint there."
        )
        st.stop()
    state.load_asked(str(folder))  # a model that reads no text is refused before one is asked for
    text = st.text_area("Question or text", choices.first_text(store), max_chars=4000, key="text")
    answer = state.ask(str(folder), text)
    with st.container(border=True):
        st.caption(state.escape(f"{folder.name} answers"))
        st.text(answer.text or "(nothing)")
    roles = [each for each in choices.list_vectors(answer.store) if each in store.sites]
    if roles:
        with st.container(horizontal=True):
            site = st.selectbox("Roles", roles, choices.first_role(roles), key="site", **state.KEEP)
            heads = choices.count_heads(store, site)
            head = st.selectbox("Head", range(heads), key="head", **state.KEEP) if heads else None
        scene = state.scene(site, head, st.session_state.get("k", 20)).on(answer.store)
        state.show(views.show_strips(scene, [0], None, dark), "asked")
        st.caption("Coloured by the nearest cluster of the store's vectors.")
    maps = choices.list_maps(answer.store)
    if maps:
        at = st.selectbox("Attention", maps, choices.first_map(maps), key="maps", **state.KEEP)
        found = views.read_maps(answer.store, at, 0)
        shown = st.selectbox("Head of the map", range(len(found.weights)), key="asked_head")
        state.show(views.show_matrix(answer.store, found, shown, dark=dark), "asked-map")
