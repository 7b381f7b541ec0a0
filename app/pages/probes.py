"""Probes: what vectors and clusters know, beside their best control; what is mistaken for what; the row behind a mark."""

import parts
import state
import streamlit as st

import tprprobe as tp


def _probed(folders) -> None:
    panels = tp.dashboard.probe_panels
    rows = state.once(lambda: panels.read_probes(folders), "probes", *state.key())
    first = st.container()
    with parts.controls():
        task = parts.choose("Task", list(rows["task"].unique()), "task")
        models = list(rows.loc[rows["task"] == task, "model"].unique())
        one = parts.choose("Model", models, "probed")
        other = parts.choose(
            "Beside it", ["none", *(each for each in models if each != one)], "beside"
        )
        score = parts.choose(
            "Score", list(panels.SCORES), "score", format_func=panels.SCORES.__getitem__
        )
        every = st.toggle("All controls", key="every", **state.KEEP)
    shown = [one] if other == "none" else [one, other]
    with first:
        parts.lead(tp.dashboard.headlines.tell_probes(rows, task, shown, score))
    view = tp.dashboard.show_probes(rows, task, state.is_dark(), score, shown, every)
    if chosen := parts.show(view, "probes"):
        st.markdown("**The rows behind the marks**")
        parts.table(view.data.iloc[chosen], 3)
    with st.expander("All rows"):
        parts.table(view.data, 3)
    _mistaken(folders, task)


def _mistaken(folders, task: str) -> None:
    """The confusions of a trained probe, and examples of its errors."""
    views, store = tp.dashboard.probe_errors, state.store()
    saved = views.list_probes(folders, task)
    if not saved or not st.toggle("What is mistaken for what", key="mistaken", **state.KEEP):
        return
    site = parts.choose("Probe of", list(saved), "errors_of", views.best(saved))
    found = state.once(
        lambda: views.predict_held_out(store, saved[site]), "predicted", *state.key(task, site)
    )
    parts.lead(views.tell_errors(found, task, site))
    parts.show(views.show_confusions(found, task, state.is_dark()), "confusions")
    parts.table(views.list_errors(store, found))


@state.page("Probes")
def probes() -> None:
    runs, store, findings = state.runs(), state.store(), tp.dashboard.findings
    probed, named, words = (runs.beside(store, each) for each in ("probes", "names", "word-names"))
    if probed:
        _probed(probed)
    for key, found, draw, tell in (
        ("names", named, findings.show_decoding, findings.tell_decoding),
        ("word_names", words, findings.show_word_names, findings.tell_words),
    ):
        if found:
            folder = parts.choose("Names", list(found), key)
            view = draw(found[folder], state.is_dark())
            parts.lead(tell(view.data))
            parts.show(view, f"chart-{key}")
    if not (probed or named or words):
        st.info(
            "Nothing was probed or named in this store yet: what do its vectors know, and is it more than controls do?"
        )
    parts.offer_runs(*["probes"] * (not probed), *["names"] * (not named and not words))
    parts.tell_unclaimed("probes", "names", "word-names")
