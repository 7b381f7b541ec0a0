"""Probes: what vectors and clusters know, with intervals and controls."""

import state
import streamlit as st

import tprprobe as tp


@state.page("Probes")
def probes() -> None:
    runs, name, dark = state.runs(), state.store_name(), state.is_dark()
    probed = runs.beside(state.store(), "probes")
    named = runs.beside(state.store(), "names")
    words = runs.beside(state.store(), "word names")
    if probed:
        rows = state.read_probes(state.root(), name)
        task = st.selectbox("Task", list(rows["task"].unique()), key="task", **state.KEEP)
        state.show(tp.views.show_probes(rows, task, dark), "probes")
        st.dataframe(rows[rows["task"] == task], hide_index=True)
    if named:
        folder = st.selectbox("Names", list(named), key="names", **state.KEEP)
        subsets = ["all", "discordant", "discordant, answered"]
        subset = st.selectbox("Digits", subsets, key="digits", **state.KEEP)
        state.show(tp.views.findings.show_decoding(named[folder], subset, dark), "decoding")
        st.caption(
            "Discordant: the place in the whole fraction is not what a look at the ‘/’ tells."
        )
    if words:
        folder = st.selectbox("Names of words", list(words), key="word_names", **state.KEEP)
        state.show(tp.views.findings.show_word_names(words[folder], dark), "words")
        st.dataframe(tp.views.findings.tabulate_word_names(words[folder]), hide_index=True)
    if not probed and not named and not words:
        st.info("No probes or names of this store yet.")
        st.code(f"tprprobe probe all {runs.folder('store', name)} --out {runs.root}/probes")
        st.code(f"tprprobe name {runs.folder('store', name)} --out {runs.root}/names")
    state.tell_unclaimed("probes", "names", "word names")
