"""Ask: a question, text or image to the model of the store; edits of its vectors, each a row of experiments."""

import changes
import parts
import state
import streamlit as st

import tprprobe as tp


def _experiment(posed, change) -> None:
    """The button that tries a change, and the table of all that were tried."""
    rows = st.session_state.setdefault("experiments", [])
    if st.button("Try it", type="primary", disabled=change is None, key="try") and change:
        rows.append(tp.views.experiments.try_change(posed, change))
    if not rows:
        st.caption(
            "Choose an edit above: the new answer stands here beside the old one and the predicted one."
        )
        return
    table = tp.views.experiments.tabulate(rows)
    parts.lead(tp.views.experiments.tell_experiment(rows[-1]))
    parts.table(table, 2)
    with st.container(horizontal=True):
        st.download_button(
            "CSV", table.to_csv(index=False), "experiments.csv", "text/csv", on_click="ignore"
        )
        st.button("Clear the table", on_click=rows.clear)


@state.page("Ask")
def ask() -> None:
    store, views = state.store(), tp.views
    folder = views.model_card.find_checkpoint(state.runs(), store)
    if folder is None:
        st.info(
            "The model of this store is neither shipped nor below the folder: put its checkpoint there."
        )
        st.stop()
    model = state.load_asked(
        str(folder)
    )  # a model that writes nothing is refused before a text is asked for
    if views.experiments.reads_images(model):
        posed = state.pose_image(str(folder), st.number_input("Image", 0, 9999, 0, key="image"))
        site = head = None
    else:
        text = st.text_area(
            "Question or text", views.choices.first_text(store), max_chars=4000, key="text"
        )
        posed = state.pose(str(folder), text)
    exact = views.experiments.exact_answer(posed)
    parts.lead(views.experiments.tell_answer(posed, folder.name, exact))
    if not posed.is_image:
        site, head = parts.show_asked(str(folder), posed.text)
    st.subheader("Edit")
    change = changes.choose_change(posed, store, site, head, st.session_state.get("k", 20))
    _experiment(posed, change)
