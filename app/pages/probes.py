"""Probes: what vectors and clusters know, each beside its best control; the row behind a mark."""

import parts
import state
import streamlit as st

import tprprobe as tp


def _probed() -> None:
    panels = tp.dashboard.probe_panels
    rows = state.read_probes(state.root(), state.store_name())
    first = st.container()
    with parts.controls():
        task = st.selectbox("Task", list(rows["task"].unique()), key="task", **state.KEEP)
        models = list(rows["model"].unique())
        one = st.selectbox("Model", models, key="probed", **state.KEEP)
        others = ["none", *(each for each in models if each != one)]
        other = st.selectbox("Beside it", others, key="beside", **state.KEEP)
        score = st.selectbox(
            "Score",
            list(panels.SCORES),
            key="score",
            format_func=panels.SCORES.__getitem__,
            **state.KEEP,
        )
        every = st.toggle("All controls", key="every", **state.KEEP)
    shown = [one] if other == "none" else [one, other]
    with first:
        parts.lead(tp.dashboard.headlines.tell_probes(rows, task, shown, score))
    view = tp.dashboard.show_probes(rows, task, state.is_dark(), score, shown, every)
    chosen = state.show_rows(view, "probes")
    if chosen:
        st.markdown("**The rows behind the marks**")
        parts.table(view.data.iloc[chosen], 3)
    else:
        st.caption("Choose a point to see the row of the table behind it.")
    with st.expander("All rows"):
        parts.table(view.data, 3)


def _decoded(named) -> None:
    st.subheader("What clusters alone tell of numerators and denominators")
    lead = st.container()
    with parts.controls():
        folder = st.selectbox("Names", list(named), key="names", **state.KEEP)
        subsets = ["all", "discordant", "discordant, answered"]
        subset = st.selectbox("Digits", subsets, key="digits", **state.KEEP)
        every = st.toggle("Every head", key="heads", **state.KEEP)
    with lead:
        parts.lead(tp.dashboard.run_summary.tell_polarity(named[folder]))
    view = tp.dashboard.findings.show_decoding(named[folder], subset, state.is_dark(), every)
    state.show(view, "decoding")
    st.caption("Discordant: the place in the whole fraction is not what a look at the ‘/’ tells.")


def _worded(words) -> None:
    folder = st.selectbox("Names of words", list(words), key="word_names", **state.KEEP)
    parts.lead(tp.dashboard.headlines.tell_words(words[folder]))
    state.show(tp.dashboard.findings.show_word_names(words[folder], state.is_dark()), "words")
    table = tp.dashboard.findings.tabulate_word_names(words[folder])
    parts.table(table[["name", *table.columns.drop("name")]])


@state.page("Probes")
def probes() -> None:
    runs, store = state.runs(), state.store()
    probed, named, words = (runs.beside(store, each) for each in ("probes", "names", "word-names"))
    if probed:
        _probed()
    if named:
        _decoded(named)
    if words:
        _worded(words)
    if not (probed or named or words):
        st.info(
            "Nothing was probed or named in this store yet: what do its vectors know, and is it more than controls do?"
        )
    if not probed:
        parts.offer_runs("probes")
    if not named and not words:
        parts.offer_runs("names")
    state.tell_unclaimed("probes", "names", "word-names")
