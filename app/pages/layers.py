"""Layers: everything that was measured by layer, in one plot, each measure over its strongest control."""

import parts
import state
import streamlit as st

import tprprobe as tp


@state.page("Layers")
def layers() -> None:
    views, store = tp.dashboard.layers, state.store()
    lines = state.once(lambda: views.measure_layers(state.runs(), store), "layers", *state.key())
    if lines.rows.empty:
        st.info(
            "Nothing was measured by layer yet: probes, decompositions and edits of several layers are drawn here together."
        )
        parts.offer_runs("probes", "decomposition", "pairs")
        return
    parts.lead(views.tell_layers(lines))
    panels = lines.rows["panel"].unique().tolist()
    shown = st.multiselect("Measures", panels, panels[:8], key="measures")
    chosen = views.select_panels(lines, shown or panels)
    rows = parts.show(views.show_layers(chosen, state.is_dark()), "layers")
    if rows:
        picked = chosen.rows.loc[rows]
        parts.show_links(
            tp.dashboard.sentence.Link(f"{each['told']}", each["page"], each["query"])
            for _, each in picked.iterrows()
        )
    else:
        st.caption("Choose a point to go to the page that shows it.")
    with st.expander("All numbers"):
        parts.table(chosen.rows.drop(columns=["query", "told", "page"]), 3)
