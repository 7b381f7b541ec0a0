"""Interventions: what finished sweeps and exchanges changed in a model's answers."""

import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Interventions")
def interventions() -> None:
    runs = state.runs()
    names = list(runs.beside(state.store(), "interventions"))
    state.tell_unclaimed("interventions")
    if not names:
        st.info(
            "Nothing was edited in the model of this store yet: which heads do its answers need?"
        )
        parts.offer_runs("sweep", "swaps")
        return
    first = st.container()
    with parts.controls():
        name = st.selectbox("Run", names, key="intervention", **state.KEEP)
        found = tp.dashboard.interventions.read_interventions(runs.folder("interventions", name))
        chosen = st.selectbox("What was done", list(found), key="edit", **state.KEEP)
    with first:
        parts.lead(tp.dashboard.headlines.tell_interventions(found[chosen], chosen))
    view = tp.dashboard.show_interventions(found[chosen], chosen, state.is_dark())
    state.show(view, "interventions")
    with st.expander("All numbers"):
        parts.table(view.data, 2)
    with st.expander("Run another"):
        parts.offer_runs("sweep", "swaps")
