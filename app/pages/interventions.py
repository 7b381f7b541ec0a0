"""Interventions: what finished sweeps and exchanges changed in a model's answers."""

import state
import streamlit as st

import tprprobe as tp


@state.page("Interventions")
def interventions() -> None:
    runs = state.runs()
    names = list(runs.beside(state.store(), "interventions"))
    state.tell_unclaimed("interventions")
    if not names:
        st.info("No finished interventions in the model of this store yet.")
        st.code(f"tprprobe intervene RECIPE.toml --ckpt NAME --out {runs.root}/sweep")
        st.stop()
    name = st.selectbox("Run", names, key="intervention", **state.KEEP)
    found = tp.views.interventions.read_interventions(runs.folder("interventions", name))
    chosen = st.selectbox("What was done", list(found), key="edit", **state.KEEP)
    view = tp.views.show_interventions(found[chosen], chosen, state.is_dark())
    state.show(view, "interventions")
    with st.expander("All numbers"):
        st.dataframe(view.data, hide_index=True)
