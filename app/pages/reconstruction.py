"""Reconstruction: how much of a state one head's value vector keeps."""

import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Reconstruction")
def reconstruction() -> None:
    found = state.runs().beside(state.store(), "reconstruction")
    if not found:
        st.info(
            "Nothing was reconstructed in this store yet: how much of a state does one head's value keep?"
        )
        parts.offer_runs("reconstruction")
    else:
        results = tp.dashboard.findings.read_reconstruction(found)
        parts.lead(tp.dashboard.headlines.tell_reconstruction(results))
        state.show(tp.dashboard.show_reconstruction(results, state.is_dark()), "reconstruction")
        with st.expander("All results"):
            parts.table(results)
    state.tell_unclaimed("reconstruction")
