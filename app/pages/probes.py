"""Probes: what vectors and clusters know, beside their best control; what is mistaken for what; the row behind a mark."""

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
    with lead:
        widgets.lead(views.summarize_probes(rows, task, [model]))
    view = views.show_probes(rows, task, [model])
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
    slices, side = tp.dashboard.slices, store.side(site)
    sliced = slices.take_predictions(store, side, state.where(side), predictions)
    widgets.lead(views.summarize_errors(sliced, task, site))
    texts = dict.fromkeys([*slices.read_slices(store), state.where(side)])
    if listed := [*filter(None, texts)]:
        widgets.table(slices.score_slices(store, side, listed, predictions))
    widgets.show(views.show_confusions(sliced, task), "confusions")
    widgets.table(views.list_errors(store, sliced))


@state.page("Probes")
def probes() -> None:
    runs, store, views = state.runs(), state.store(), tp.dashboard.names
    probe_runs, name_runs = (
        runs.beside(store, *kinds) for kinds in (["probes"], ["names", "word-names"])
    )
    if probe_runs:
        _show_probes(probe_runs)
    if name_runs:
        lead = st.container()
        clusters = views.read_names(name_runs[widgets.choose("Names", list(name_runs), "names")])
        view = views.show_names(clusters)
        with lead:
            widgets.lead(views.summarize_names(view.data))
        if view.data["value"].any():
            widgets.show(view, "chart-names")
        if "candidate" in clusters:
            draw = lambda: widgets.table(views.words_table(clusters).cells)  # noqa: E731
            widgets.fold("Proposed names", "proposed", draw)
    missing = ["probes"] * (not probe_runs) + ["names"] * (not name_runs)
    widgets.offer_runs(*missing, why=NOTHING * (len(missing) == 2))
    widgets.list_unclaimed("probes", "names", "word-names")
