"""Overview: the runs that were found, a card each; sites, sizes and scores."""

import state
import streamlit as st

import tprprobe as tp

SHOWN = 24  # cards


@state.page("Overview")
def overview() -> None:
    runs = state.runs()
    names = runs.names("store")
    if not names:
        state.store_name()
    found = {kind: len(runs.names(kind)) for kind in runs.folders if runs.names(kind)}
    st.caption("Found: " + " · ".join(f"{kind} {count}" for kind, count in found.items()))
    chosen = state.store_name()
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
            card.markdown(
                "  \n".join(f"{key}: **{state.escape(value)}**" for key, value in facts.items())
            )
    if len(names) > SHOWN:
        st.caption(f"{len(names) - SHOWN} more are in the list at the left.")

    store = state.store()
    st.subheader(state.escape(chosen))
    facts = tp.views.store_card.tell_store(store)
    columns = st.columns(5)
    for column, key in zip(columns, ("samples", "tokens", "sites", "size"), strict=False):
        column.metric(key, facts[key])
    st.dataframe(tp.views.inventory.show_sites(store).data, hide_index=True)
    score = tp.views.accuracy.tell_score(store)  # reads the tokens: the rest is there before
    if score:
        told = f"95 % interval: {score.low:.1%} to {score.high:.1%}"
        columns[4].metric("answered right", f"{score.value:.1%}")
        columns[4].caption(told)
    with st.popover("Export the table of sites"):
        state.offer(lambda: tp.views.inventory.show_sites(store), "sites")
    card = tp.views.model_card.read_card(runs, store)
    if card:
        with st.expander("Model card"):
            st.code(card, language=None, wrap_lines=True)
    if st.button("Write a report of this run"):
        page = tp.views.report.report_bytes(runs.run_of(chosen))
        st.download_button("Download report.html", page, "report.html", "text/html")
