"""Reconstruction: how much of a state one head's value vector keeps."""

import state
import streamlit as st

import tprprobe as tp


@state.page("Reconstruction")
def reconstruction() -> None:
    results = state.reconstruct(state.root(), state.store_name())
    state.show(tp.views.show_reconstruction(results, state.is_dark()), "reconstruction")
    with st.expander("All results"):
        st.dataframe(results, hide_index=True)
    state.tell_unclaimed("reconstruction")
