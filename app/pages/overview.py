"""Overview: what was read, what was asked of it and found, what can be asked next."""

import parts
import state
import streamlit as st

import tprprobe as tp

SHOWN = 24  # cards of stores
ASKED = {
    "names": "names",
    "word-names": "names",
    "probes": "probes",
    "decompositions": "decomposition",
}
ASKED |= {"interventions": "sweep", "behaviours": "pairs"}


def _show_sizes(store) -> None:
    facts, holds = (
        tp.dashboard.holdings.describe_store(store),
        tp.dashboard.holdings.list_holdings(store),
    )
    with st.container(horizontal=True):
        for key in ("samples", "tokens", "sites", "size"):
            st.metric(key, facts[key], width="content")
        if holds.score is not None:
            right = "answered right" if holds.arithmetic else "as the reference"
            low, high = (f"{100 * each:.1f}" for each in (holds.score.low, holds.score.high))
            st.metric(right, f"{100 * holds.score.value:.1f} % [{low}, {high}]", width="content")
    view = tp.dashboard.tables.show_sites(store)
    parts.titled(view.title, lambda: view, "sites")
    parts.table(view.data)
    if card := tp.dashboard.model_card.read_card(state.runs(), store):
        st.code(card, language=None, wrap_lines=True, height=300)


def _show_stores(names, chosen) -> None:
    rows = [
        {"store": name} | tp.dashboard.folders.describe(state.runs(), name)
        for name in names[:SHOWN]
    ]
    parts.table(tp.dashboard.tables.tabulate(rows))
    st.caption(
        f"Chosen: {state.escape(chosen)}."
        + (f" {len(names) - SHOWN} more are in the list at the left." if len(names) > SHOWN else "")
    )


@state.page("Overview")
def overview() -> None:
    runs, store, name = state.runs(), state.store(), state.store_name()
    known = state.once(
        lambda: tp.dashboard.run_summary.summarize(runs, store), "summary", *state.key()
    )
    parts.lead(known.lead)
    if known.roles or known.results:
        st.subheader("What was found")
    for each in (*known.roles, *known.results):
        parts.tell(each)
    if len(known.named):
        with st.expander(f"All {len(known.named)} named roles"):
            parts.table(known.named)
    with st.expander("Sizes and types"):
        _show_sizes(store)
    done = {
        command
        for kind, command in ASKED.items()
        if kind in runs.folders and runs.beside(store, kind)
    }
    left = [
        each
        for each in dict.fromkeys(ASKED.values())
        if each not in done and each in tp.dashboard.launches.LAUNCHES
    ]
    if left:
        st.subheader("What can be asked next")
        parts.offer_runs(*left)
    with st.expander(f"All {len(runs.names('store'))} stores of this folder"):
        _show_stores(runs.names("store"), name)
    if st.button("Write a report of this run"):
        page = tp.dashboard.report.report_bytes(runs.run_of(name))
        st.download_button("Download report.html", page, "report.html", "text/html")
