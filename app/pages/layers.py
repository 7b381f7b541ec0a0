"""Layers: everything that was measured by layer, in one plot, each measure over its strongest control."""

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No measurements by layer yet. This page draws probes, decompositions and edits of several layers together."


@state.page("Layers")
def layers() -> None:
    views, store = tp.dashboard.layers, state.store()
    lines = state.once(lambda: views.measure_layers(state.runs(), store), "layers")
    if lines.rows.empty and all(views.layer_of(site) is None for site in store.sites):
        st.info("The sites of this store have no layers.")
        return
    widgets.link_examined(store, "nested", "heads")
    if lines.rows.empty:
        widgets.offer_runs("probes", "decomposition", "pairs", why=NOTHING)
        return
    widgets.lead(views.summarize_layers(lines))
    view = views.show_layers(lines)
    numbers = view.data.drop(columns=["told", "page"])
    if rows := widgets.show(view, "layers"):
        points = lines.rows.loc[rows].to_dict("records")
        widgets.show_links(views.Link(row["told"], row["page"], row["query"]) for row in points)
    else:
        st.caption("Choose a point to go to the page that shows it.")
    widgets.fold("All numbers", "numbers", lambda: widgets.table(numbers, 3))
