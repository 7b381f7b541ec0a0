"""Decomposition: how much of a state is a sum of bindings, of which roles, and one filler changed."""

import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Decomposition")
def decomposition() -> None:
    store, runs, dark = state.store(), state.runs(), state.is_dark()
    views, name = tp.dashboard.role_fits, state.store_name()
    found = list(runs.beside(store, "decompositions"))
    state.tell_unclaimed("decompositions")
    if not found:
        st.info("No decomposition of this store yet: is its state a sum of role–filler bindings?")
        parts.offer_runs("decomposition")
        st.stop()
    lead = st.container()
    with parts.controls():
        run = st.selectbox("Run", found, key="decomposed", **state.KEEP)
        scores = views.read_decompositions({run: runs.folder("decompositions", run)})
        site = st.selectbox("Site", scores["site"].unique().tolist(), key="of", **state.KEEP)
        own = scores[(scores["site"] == site) & (scores["control"] == "")]
        own = own.drop_duplicates("roles").set_index("roles")
        best = own.index.get_loc(
            tp.dashboard.headlines.find_scheme(scores[scores["site"] == site])["roles"]
        )
        roles = st.selectbox("Roles", own.index.tolist(), best, key="scheme", **state.KEEP)
    with lead:
        parts.lead(tp.dashboard.headlines.tell_decomposition(scores, site))
    state.show(views.show_schemes(scores, site, dark), "schemes")
    with st.expander("All scores"):
        parts.table(scores[scores["site"] == site], 4)
    fit = state.fit_roles(state.root(), name, run, site, roles, own.loc[roles, "rank"])
    compared = ["fillers", "roles"] if len(fit.fit.pairs.roles) > 1 else ["fillers"]
    with st.container(key="pair"):
        columns = st.columns(2)
    for column, of in zip(columns, compared, strict=False):
        with column:
            state.show(views.show_similarity(fit, of, dark), f"likeness-{of}")
    sample = state.choose_sample(store.samples)
    states = views.read_sample(store, fit, sample)
    state.show(views.show_residuals(states, dark), "residuals")
    with st.container(horizontal=True):
        tokens, fillers = states.tokens["filler"].tolist(), list(map(str, fit.fit.pairs.fillers))
        first, visible = views.first_change(states), tp.dashboard.safe_text.visible
        told = {i: f"{i}: {visible(token)}" for i, token in enumerate(tokens)}
        at = st.selectbox(
            "Token", range(len(tokens)), first[0], key="token", format_func=told.__getitem__
        )
        filler = st.selectbox("becomes", fillers, first[1], key="filler", format_func=visible)
    state.show(views.show_change(states, at, filler, dark), "changed")
    folder = tp.dashboard.model_card.find_checkpoint(runs, store)
    if folder is None:
        st.info(
            "The model of this store is neither shipped nor below the folder: nothing is decoded."
        )
        st.stop()
    parts.table(state.answer_changed(str(folder), store, states, at, filler))
