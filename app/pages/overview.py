"""Overview: what was read and answered, the strongest roles, their controls; all stores."""

import cards
import parts
import state
import streamlit as st

import tprprobe as tp


def _named(runs, store) -> None:
    """Which heads have a role for what: chosen by clicking what names are made of."""
    summary = tp.dashboard.run_summary
    named = summary.list_named(runs, store)
    if named.empty:
        return
    st.subheader("Which heads have a role for …")
    atoms = summary.list_atoms(named)
    atom = st.pills(
        "Role",
        atoms,
        key="atom",
        format_func=lambda each: state.escape(tp.dashboard.safe_text.visible(each)),
        label_visibility="collapsed",
    )
    if atom:
        parts.lead(summary.tell_atom(named, atom))
    with st.expander(f"All {len(named)} named roles"):
        parts.table(named)


@state.page("Overview")
def overview() -> None:
    runs, store, name = state.runs(), state.store(), state.store_name()
    told = state.summarize(state.root(), name)
    parts.lead(told.lead)
    left, right = st.columns([3, 2])
    with left:
        st.subheader("Strongest roles")
        for each in told.roles:
            parts.tell(each)
        if not told.roles:
            st.caption(
                "No role of this store has a name yet. Roles names the clusters of one head."
            )
            parts.show_links([tp.dashboard.sentence.Link("Show on Roles", "roles")])
            parts.offer_runs("names")
    with right:
        st.subheader("Beside their controls")
        for each in told.controls:
            parts.tell(each)
        if not told.controls:
            st.caption("Nothing was compared with controls yet.")
            parts.offer_runs("probes")
    if view := tp.dashboard.run_summary.show_controls(runs, store, state.is_dark()):
        state.show(view, "controls-chart")
    _named(runs, store)
    with st.expander("Sizes and types", expanded=False):
        cards.show_sizes(store)
    names = runs.names("store")
    with st.expander(f"All {len(names)} stores of this folder", expanded=False):
        cards.show_cards(names, name)
    if st.button("Write a report of this run"):
        page = tp.dashboard.report.report_bytes(runs.run_of(name))
        st.download_button("Download report.html", page, "report.html", "text/html")
