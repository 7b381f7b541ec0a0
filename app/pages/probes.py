"""Probes: what vectors and clusters know, beside their best control; what is mistaken for what; the row behind a mark."""

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No probes or names for this store yet. They show what its vectors predict better than controls."


def _show_probes(folders) -> None:
    views = tp.dashboard.probes
    rows, first = state.once(lambda: views.load_probes(folders.values()), "probes"), st.container()
    with widgets.controls():
        task = widgets.choose("Task", rows["task"].unique().tolist(), "task")
        models = rows.loc[rows["task"] == task, "model"].unique().tolist()
        one = widgets.choose("Model", models, "probed")
        rest = ["none", *(each for each in models if each != one)]
        other = widgets.choose("Beside it", rest, "beside")
        score = widgets.choose("Score", views.SCORES, "score", format_func=views.SCORES.get)
        every = st.toggle("All controls", key="every", **state.KEEP)
    shown = [each for each in (one, other) if each != "none"]
    with first:
        widgets.lead(views.summarize_probes(rows, task, shown, score))
    view = views.show_probes(rows, task, score, shown, every)
    chosen = widgets.show(view, "probes")
    title = "The rows of the marked points" if chosen else "All rows"
    table = view.data.iloc[chosen] if chosen else view.data
    widgets.fold(title, title, lambda: widgets.table(table, 3), bool(chosen))
    _show_mistakes(folders, task)


def _show_mistakes(folders, task: str) -> None:
    """The confusions of a trained probe, and examples of its errors."""
    views, store = tp.dashboard.probes, state.store()
    saved = views.list_probes(folders, task)
    if not saved or not st.toggle("Confused labels", key="mistaken", **state.KEEP):
        return
    site = widgets.choose("Probe of", list(saved), "errors_of")
    found = state.once(lambda: views.predict_held_out(store, saved[site]), "predicted", task, site)
    widgets.lead(views.summarize_errors(found, task, site))
    widgets.show(views.show_confusions(found, task), "confusions")
    widgets.table(views.list_errors(store, found))


@state.page("Probes")
def probes() -> None:
    runs, store, views = state.runs(), state.store(), tp.dashboard.names
    probed, named, words = (runs.beside(store, each) for each in ("probes", "names", "word-names"))
    if probed:
        _show_probes(probed)
    for kind, folders in (("names", named), ("word_names", words)):
        if folders:
            lead = st.container()
            view = views.SHOWN[kind](folders[widgets.choose("Names", list(folders), kind)])
            with lead:
                widgets.lead(views.TOLD[kind](view.data))
            widgets.show(view, f"chart-{kind}")
    left = ["probes"] * (not probed) + ["names"] * (not named and not words)
    widgets.offer_runs(*left, why=NOTHING * (len(left) == 2))
    widgets.list_unclaimed("probes", "names", "word-names")
