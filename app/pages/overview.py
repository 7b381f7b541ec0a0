"""Overview: what was read and answered, the strongest roles, their controls, claims; all stores."""

import parts
import state
import streamlit as st

import tprprobe as tp

SHOWN = 24  # cards


def _sizes(store) -> None:
    facts = tp.views.store_card.tell_store(store)
    score = tp.views.accuracy.tell_score(store)
    with st.container(horizontal=True):
        for key in ("samples", "tokens", "sites", "size"):
            st.metric(key, facts[key], width="content")
        if score:
            st.metric("answered right", f"{score.value:.1%}", width="content")
    parts.table(tp.views.inventory.show_sites(store).data)
    with st.popover("Export the table of sites"):
        state.offer(lambda: tp.views.inventory.show_sites(store), "sites")
    if card := tp.views.model_card.read_card(state.runs(), store):
        st.code(card, language=None, wrap_lines=True, height=300)


def _cards(names, chosen) -> None:
    for start in range(0, min(len(names), SHOWN), 3):
        for name, column in zip(names[start : start + 3], st.columns(3), strict=False):
            card = column.container(border=True, height="stretch")
            card.markdown(f"**{state.escape(name)}**" + (" · chosen" if name == chosen else ""))
            try:
                facts = tp.views.store_card.tell_store(state.open_store(state.root(), name))
            except tp.InputError as error:
                card.warning("This store cannot be read.")
                card.text(str(error))
                continue
            lines = [f"{key}: **{state.escape(value)}**" for key, value in facts.items()]
            card.markdown("  \n".join(lines))
    if len(names) > SHOWN:
        st.caption(f"{len(names) - SHOWN} more are in the list at the left.")


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
            st.caption("No role of this store has a name yet.")
            parts.offer_runs("names")
    with right:
        st.subheader("Beside their controls")
        for each in told.controls:
            parts.tell(each)
        if not told.controls:
            st.caption("Nothing was compared with controls yet.")
            parts.offer_runs("probes")
    if view := tp.views.run_summary.show_controls(runs, store, state.is_dark()):
        state.show(view, "controls-chart")
    if len(told.claims):
        st.subheader("What the papers claim of this")
        st.caption(
            "Verdicts of the results pages, on their own models and data (docs/verdicts.csv)."
        )
        parts.claims(told.claims)
    with st.expander("Sizes and types", expanded=False):
        _sizes(store)
    names = runs.names("store")
    with st.expander(f"All {len(names)} stores of this folder", expanded=False):
        _cards(names, name)
    if st.button("Write a report of this run"):
        page = tp.views.report.report_bytes(runs.run_of(name))
        st.download_button("Download report.html", page, "report.html", "text/html")
