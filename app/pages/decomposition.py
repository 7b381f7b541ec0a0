"""Decomposition: what fillers, roles and bindings explain of a state, step by step; one sample taken apart."""

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No decomposition of this store yet. It shows how much fillers, roles and their bindings explain of its states."
TAKE_APART = "Fit these roles, and show which fillers and roles are similar, and one sample"


def _take_apart(store, run, site, roles, rank) -> None:
    """Likeness of fillers and of roles, and one sample: what is left of its vectors, and one filler changed."""
    views, folder = tp.dashboard.decompositions, state.runs().folder("decompositions", run)
    key = ("fit", run, site, roles, rank)
    fit = state.once(lambda: views.fit_roles(store, folder, site, roles, rank), *key)
    st.caption(views.summarize_part(store, site))
    with st.container(key="pair"):
        columns = st.columns(2)
    axes = ["fillers", "roles"][: 1 + (len(fit.fit.pairs.roles) > 1)]
    for column, axis in zip(columns, axes, strict=False):
        with column:
            widgets.show(views.show_similarity(fit, axis), f"likeness-{axis}")
    states = views.read_sample(store, fit, *widgets.choose_samples(store, range(store.samples)))
    widgets.show(views.show_residuals(states), "residuals")
    sign, tokens = views.sign, states.tokens["filler"].tolist()
    labels = {i: f"{i}: {sign(token)}" for i, token in enumerate(tokens)}
    middle, write = len(labels) // 2, labels.__getitem__
    with st.container(horizontal=True):
        position = st.selectbox("Token", labels, middle, key="token", format_func=write)
        fillers = [text for text in map(str, fit.fit.pairs.fillers) if text != tokens[position]]
        filler = st.selectbox("becomes", fillers, 0, key="filler", format_func=sign)
    widgets.show(views.show_change(states, position, filler), "changed")


@state.page("Decomposition")
def decomposition() -> None:
    store, runs, views = state.store(), state.runs(), tp.dashboard.decompositions
    folders = runs.beside(store, "decompositions")
    widgets.list_unclaimed("decompositions")
    if not folders:
        widgets.link_examined(store, "nested")
        widgets.offer_runs("decomposition", why=NOTHING)
        return
    lead = st.container()
    with widgets.controls():
        run = widgets.choose("Run", list(folders), "decomposed")
        scores = views.read_scores([folders[run]])
        sites = scores["site"].unique().tolist()
        site = widgets.choose_site(
            "Site", sites, "of", sites.index(views.find_scheme(scores)["site"])
        )
        of_site = scores[scores["site"] == site]
        schemes = of_site[of_site["control"] == ""].drop_duplicates("roles").set_index("roles")
        best = schemes.index.get_loc(views.find_scheme(of_site)["roles"])
        roles = widgets.choose("Roles", schemes.index.tolist(), "scheme", best)
    with lead:
        widgets.lead(views.summarize_decomposition(scores, site, roles).text)  # its link leads here
    widgets.show(views.show_steps(scores, site, roles), "schemes")
    widgets.table(views.list_steps(scores, site), 2)
    operations = views.read_scores(runs.beside(store, "operations").values(), views.OPERATIONS)
    compared = operations[(operations["site"] == site) & (operations["roles"] == roles)]
    if len(compared):
        widgets.show(views.show_operations(compared), "operations")
    widgets.fold("All scores", "scores", lambda: widgets.table(of_site, 4))
    if st.toggle(TAKE_APART, key="apart", **state.KEEP):
        _take_apart(store, run, site, roles, schemes.loc[roles, "rank"])
