"""Probes: what vectors and clusters know, beside their best control; the row behind a mark."""

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
