"""The store behind the Overview: its sizes and types, and a card of every store in the folder."""

import parts
import state
import streamlit as st

import tprprobe as tp

SHOWN = 24  # cards


def show_sizes(store) -> None:
    facts = tp.dashboard.store_card.tell_store(store)
    score = tp.dashboard.accuracy.tell_score(store)
    with st.container(horizontal=True):
        for key in ("samples", "tokens", "sites", "size"):
            st.metric(key, facts[key], width="content")
        if score:
            st.metric("answered right", f"{score.value:.1%}", width="content")
    parts.table(tp.dashboard.tables.show_sites(store).data)
    with st.popover("Export the table of sites"):
        state.offer(lambda: tp.dashboard.tables.show_sites(store), "sites")
    if card := tp.dashboard.model_card.read_card(state.runs(), store):
        st.code(card, language=None, wrap_lines=True, height=300)


def show_cards(names, chosen) -> None:
    for start in range(0, min(len(names), SHOWN), 3):
        for name, column in zip(names[start : start + 3], st.columns(3), strict=False):
            card = column.container(border=True, height="stretch")
            card.markdown(f"**{state.escape(name)}**" + (" · chosen" if name == chosen else ""))
            try:
                facts = tp.dashboard.store_card.tell_store(state.open_store(state.root(), name))
            except tp.InputError as error:
                card.warning("This store cannot be read.")
                card.text(str(error))
                continue
            lines = [f"{key}: **{state.escape(value)}**" for key, value in facts.items()]
            card.markdown("  \n".join(lines))
    if len(names) > SHOWN:
        st.caption(f"{len(names) - SHOWN} more are in the list at the left.")
