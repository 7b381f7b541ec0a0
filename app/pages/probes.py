"""Probes: what vectors predict, beside their best control; the row behind a mark."""

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No probes of this store yet. They show what its vectors predict better than controls."


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
    if folders := state.runs().beside(state.find_store(), "probes"):
        _show_probes(folders)
    else:
        widgets.show_examined("probes", opened=True)
        widgets.offer_runs("probes", why=NOTHING)
    widgets.list_unclaimed("probes")
