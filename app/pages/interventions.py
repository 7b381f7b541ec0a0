"""Interventions: what finished sweeps, exchanges and edits of pairs changed in what a model answers or expects."""

import state
import streamlit as st
import widgets

import tprprobe as tp

KINDS = ("interventions", "behaviors")
NOTHING = "No interventions in the model of this store yet. They show which vectors its answers, or its next words, depend on."


@state.page("Interventions")
def interventions() -> None:
    runs, store, views = state.runs(), state.find_store(), tp.dashboard.interventions
    folders = runs.beside(store, *KINDS)
    runs_elsewhere = runs.sort(store, *KINDS)[1] if store else {}
    widgets.list_unclaimed(*KINDS)
    if not folders and not runs_elsewhere and "imported" in state.store().manifest:
        st.info("These vectors were imported, so there is no model to edit.")
        return
    if not folders and not runs_elsewhere:
        widgets.offer_runs("sweep", "swaps", "pairs", why=NOTHING)
        link = tp.dashboard.statements.Link("Change the vectors of a text yourself, on Ask", "ask")
        widgets.show_links([link])
        return
    lead = st.container()
    with widgets.controls():
        folders = folders | runs_elsewhere
        name = widgets.choose("Run", list(folders), "intervention")
        tables = views.read_interventions(folders[name])
        edit = widgets.choose("Edit", list(tables), "edit")
    statement = views.summarize_run(folders[name], tables[edit], edit)
    with lead:
        if name in runs_elsewhere:  # the link leads to vectors of the store's model
            st.caption("Of another model than that of the store.")
        widgets.lead(statement.text if name in runs_elsewhere else statement)
    view = views.show_interventions(tables[edit], edit)
    widgets.show(view, "interventions")
    widgets.fold("All numbers", "numbers", lambda: widgets.table(view.data, 2))
    if store:
        with st.expander("Run another"):
            widgets.offer_runs("sweep", "swaps", "pairs")
