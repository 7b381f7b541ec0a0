"""Decomposition: what fillers, roles and bindings explain of a state, step by step; one sample taken apart."""

import parts
import state
import streamlit as st

import tprprobe as tp


def _take_apart(store, run, site, roles, rank) -> None:
    """Likeness of fillers and of roles, and one sample: what is left of its vectors, and one filler changed."""
    views, dark = tp.dashboard.role_fits, state.is_dark()
    folder = state.runs().folder("decompositions", run)
    fit = state.once(
        lambda: views.fit_roles(store, folder, site, roles, rank),
        "fit",
        *state.key(run, site, roles, rank),
    )
    with st.container(key="pair"):
        columns = st.columns(2)
    for column, of in zip(
        columns, ["fillers", "roles"][: 1 + (len(fit.fit.pairs.roles) > 1)], strict=False
    ):
        with column:
            parts.show(views.show_similarity(fit, of, dark), f"likeness-{of}")
    states = views.read_sample(store, fit, parts.choose_sample(store, store.samples))
    parts.show(views.show_residuals(states, dark), "residuals")
    with st.container(horizontal=True):
        visible, tokens = tp.dashboard.safe_text.visible, states.tokens["filler"].tolist()
        told = {i: f"{i}: {visible(token)}" for i, token in enumerate(tokens)}
        at = st.selectbox(
            "Token", range(len(tokens)), len(tokens) // 2, key="token", format_func=told.__getitem__
        )
        fillers = [each for each in map(str, fit.fit.pairs.fillers) if each != tokens[at]]
        filler = st.selectbox("becomes", fillers, 0, key="filler", format_func=visible)
    parts.show(views.show_change(states, at, filler, dark), "changed")


@state.page("Decomposition")
def decomposition() -> None:
    store, runs, views = state.store(), state.runs(), tp.dashboard.role_fits
    found = list(runs.beside(store, "decompositions"))
    parts.tell_unclaimed("decompositions")
    if not found:
        st.info(
            "No decomposition of this store yet: what do fillers, roles and their bindings explain of its states?"
        )
        parts.offer_runs("decomposition")
        return
    lead = st.container()
    with parts.controls():
        run = parts.choose("Run", found, "decomposed")
        scores = views.read_decompositions({run: runs.folder("decompositions", run)})
        sites = scores["site"].unique().tolist()
        site = parts.choose(
            "Site", sites, "of", sites.index(tp.dashboard.headlines.find_scheme(scores)["site"])
        )
        own = (
            scores[(scores["site"] == site) & (scores["control"] == "")]
            .drop_duplicates("roles")
            .set_index("roles")
        )
        best = tp.dashboard.headlines.find_scheme(scores[scores["site"] == site])["roles"]
        roles = parts.choose("Roles", own.index.tolist(), "scheme", own.index.get_loc(best))
    with lead:
        parts.lead(tp.dashboard.headlines.tell_decomposition(scores, site, roles))
    parts.show(views.show_steps(scores, site, roles, state.is_dark()), "schemes")
    parts.table(views.list_steps(scores, site), 2)
    with st.expander("All scores"):
        parts.table(scores[scores["site"] == site], 4)
    if st.toggle(
        "Take it apart: fit these roles, show which fillers and roles are alike, and one sample",
        key="apart",
    ):
        _take_apart(store, run, site, roles, own.loc[roles, "rank"])
