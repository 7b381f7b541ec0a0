"""Probes: what vectors and clusters know, beside their best control; what is mistaken for what; the row behind a mark."""

from functools import partial

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No probes or names for this store yet. They show what its vectors predict better than controls."


def _show_probes(folders) -> None:
    views = tp.dashboard.probes
    rows, lead = state.once(lambda: views.load_probes(folders.values()), "probes"), st.container()
    with widgets.controls():
        task = widgets.choose("Task", rows["task"].unique().tolist(), "task")
        models = rows.loc[rows["task"] == task, "model"].unique().tolist()
        model = widgets.choose("Model", models, "probed")
        rivals = ["none", *(name for name in models if name != model)]
        rival = widgets.choose("Beside it", rivals, "beside")
        score = widgets.choose("Score", views.SCORES, "score", format_func=views.SCORES.get)
        every = st.toggle("All controls", key="every", **state.KEEP)
    compared = [name for name in (model, rival) if name != "none"]
    with lead:
        widgets.lead(views.summarize_probes(rows, task, compared, score))
    view = views.show_probes(rows, task, score, compared, every)
    marked = widgets.show(view, "probes")
    title = "The rows of the marked points" if marked else "All rows"
    table = view.data.iloc[marked] if marked else view.data
    widgets.fold(title, title, lambda: widgets.table(table, 3), bool(marked))
    _show_mistakes(folders, task)


def _show_mistakes(folders, task: str) -> None:
    """The confusions of a trained probe, and examples of its errors."""
    views, store = tp.dashboard.probes, state.store()
    saved = views.list_probes(folders, task)
    if not saved or not st.toggle("Confused labels", key="mistaken", **state.KEEP):
        return
    site = widgets.choose("Probe of", list(saved), "errors_of")
    predict = lambda: views.predict_held_out(store, saved[site])  # noqa: E731
    predictions = state.once(predict, "predicted", task, site)
    widgets.lead(views.summarize_errors(predictions, task, site))
    widgets.show(views.show_confusions(predictions, task), "confusions")
    widgets.table(views.list_errors(store, predictions))


@state.page("Probes")
def probes() -> None:
    runs, store, views = state.runs(), state.store(), tp.dashboard.names
    kinds = ("probes", "names", "word-names")
    probe_runs, name_runs, word_runs = (runs.beside(store, kind) for kind in kinds)
    if probe_runs:
        _show_probes(probe_runs)
    for kind, folders in (("names", name_runs), ("word_names", word_runs)):
        if folders:
            lead = st.container()
            folder = folders[widgets.choose("Names", list(folders), kind)]
            view = views.VIEWS[kind](folder)
            with lead:
                widgets.lead(views.SUMMARIES[kind](view.data))
            if view.data["value"].any():
                widgets.show(view, f"chart-{kind}")
            if kind == "word_names":
                show = partial(widgets.table, views.show_word_clusters(folder))
                widgets.fold("Proposed names", "proposed", show)
    missing = ["probes"] * (not probe_runs) + ["names"] * (not name_runs and not word_runs)
    widgets.offer_runs(*missing, why=NOTHING * (len(missing) == 2))
    widgets.list_unclaimed("probes", "names", "word-names")
