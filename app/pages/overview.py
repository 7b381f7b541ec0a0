"""Overview: what was read, what was asked of it and found, what can be asked next."""

import state
import streamlit as st
import widgets
from PIL import Image

import tprprobe as tp

DENSITY = 2  # pixels of a picture in a pixel of the page


def _show_examination(questions) -> None:
    for question, picture in questions:
        st.subheader(state.escape(question.heading))
        if question.text:
            st.markdown(state.escape(question.text))
        if picture:
            try:
                with Image.open(picture) as pixels:
                    st.image(str(picture), width=pixels.width // DENSITY)
            except OSError:
                st.caption(state.escape(f"{picture.name} is damaged."))
        if question.lack:
            st.caption(state.escape(question.lack))
        if page := tp.dashboard.contents.EXAMINED.get(picture.stem if picture else ""):
            link = tp.dashboard.statements.Link(f"Show on {page.capitalize()}", page)
            widgets.show_links([link])


def _show_results(runs, store) -> bool:
    summarize = lambda: tp.dashboard.run_summary.summarize(runs, store)  # noqa: E731
    statements = state.once(summarize, "summary")
    if statements:
        st.subheader("Results")
    for statement in statements:
        widgets.write(statement)
    return bool(statements)


@state.page("Overview")
def overview() -> None:
    runs, views = state.runs(), tp.dashboard
    if state.find_store() is None and _show_results(runs, None):
        st.caption("No store lies here: there are only these results.")
        return
    store = state.store()
    widgets.lead(views.contents.summarize_store(store))
    _show_examination(views.contents.read_examination(store))
    results = st.container()
    side = views.slices.find_side(store)
    if slices := state.list_slices(side):
        st.subheader("Slices")
        scores = views.slices.score_slices(store, side, slices)
        widgets.table(views.slices.write_scores(scores), key=str(slices))
    sites = views.contents.list_sites(store)
    widgets.fold("Sizes and types", "sizes", lambda: widgets.table(sites))
    widgets.offer_runs(*views.launches.list_missing(runs, store), heading="What you can do next")
    names = runs.names("store")
    describe = lambda: widgets.table(views.folders.describe_all(runs, names))  # noqa: E731
    widgets.fold(f"Stores of this folder: {len(names)}", "stores", describe)
    if st.button("Write a report of this run"):
        page = views.folders.write_report(runs, state.store_name())
        st.download_button("Download report.html", page, "report.html", "text/html")
    with results:  # last: the first result of a kind imports what reads it, which takes seconds
        _show_results(runs, store)
        widgets.list_replaced()
