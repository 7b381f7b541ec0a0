"""Interventions: what finished sweeps, exchanges and edits of pairs changed in what a model answers or expects."""

import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Interventions")
def interventions() -> None:
    runs, store, views = state.runs(), state.store(), tp.dashboard
    folders = runs.beside(store, "interventions")
    folders |= runs.beside(store, "behaviours") if "behaviours" in runs.folders else {}
    parts.tell_unclaimed("interventions")
    if not folders:
        st.info(
            "Nothing was edited in the model of this store yet: what do its answers, or what it expects next, need?"
        )
        parts.offer_runs("sweep", "swaps", "pairs")
        return
    first = st.container()
    with parts.controls():
        name = parts.choose("Run", list(folders), "intervention")
        found = views.interventions.read_interventions(folders[name])
        chosen = parts.choose("What was done", list(found), "edit")
    rows = found[chosen]
    told = (
        views.headlines.tell_behaviour(rows)
        if "kl" in rows
        else views.headlines.tell_interventions(rows, chosen)
    )
    with first:
        parts.lead(told)
    view = views.show_interventions(rows, chosen, state.is_dark())
    parts.show(view, "interventions")
    with st.expander("All numbers"):
        parts.table(view.data, 2)
    with st.expander("Run another"):
        parts.offer_runs("sweep", "swaps", "pairs")
