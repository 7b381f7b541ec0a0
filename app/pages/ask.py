"""Ask: a question, text or image to the model of the store; edits of its vectors, each a row of experiments."""

import asked
import changes
import experiments
import parts
import state
import streamlit as st

import tprprobe as tp

LONGEST = 300  # characters of what is said of a text that cannot be asked


def _begin(store) -> None:
    """Asks another store's model something of its own."""
    before = st.session_state.get("asked_of", state.store_name())
    st.session_state["asked_of"] = state.store_name()
    if before != state.store_name():
        first = tp.dashboard.choices.first_text(store)
        st.session_state.update({"text": first, "image": 0, "cluster": None})


def _pose(folder: str, store):
    """What is asked: the number of an image, or a text."""
    if tp.dashboard.live_example.reads_images(state.load_asked(folder)):
        return state.pose_image(
            folder, st.number_input("Image", 0, 9999, key="image", **state.KEEP)
        )
    is_known = "text" in st.session_state or "text" in st.query_params
    first = "" if is_known else tp.dashboard.choices.first_text(store)
    given = {"max_chars": 4000, "key": "text", "height": 95, **state.KEEP}
    return state.pose(folder, st.text_area("Question or text", first, **given))


def _tell(posed, name: str, store) -> str:
    dialogue = tp.dashboard.live_example
    reference = "" if posed.is_image else dialogue.find_reference(store, posed.text)
    return dialogue.tell_answer(posed, name, dialogue.exact_answer(posed), reference)


@state.page("Ask")
def ask() -> None:
    store, views = state.store(), tp.dashboard
    folder = views.model_card.find_checkpoint(state.runs(), store)
    if folder is None:
        st.info(
            "The model of this store is neither shipped nor below the folder: put its checkpoint there."
        )
        st.stop()
    _begin(store)
    lead = asked.stay()
    try:
        posed = _pose(str(folder), store)
    except tp.InputError as error:
        st.warning(state.escape(views.safe_text.visible(error, LONGEST)))
        st.stop()
    kept = state.keep_asked(str(folder), posed.text, posed)
    with parts.controls():
        scene = changes.choose_scene(store, kept.store)
    with st.container(horizontal=True, vertical_alignment="bottom", key="edit"):
        what = changes.choose_edit()
        asked.keep_for(posed.text, what)
        edit = changes.choose_change(posed, store, what, scene)
    asked.show_tokens(posed, kept, scene, edit)
    if what == changes.EXCHANGE:
        changes.offer_pairs(posed)
    row = experiments.try_edit(str(folder), posed, edit.change)
    with lead:
        key = ("answer", state.store_name(), str(kept.store.path))
        answer = asked.once(lambda: _tell(posed, folder.name, store), *key)
        if row is None:
            parts.lead(answer)
        else:
            parts.lead(views.experiments.tell_experiment(row))
            st.caption(state.escape(f"Without the edit: {answer}"))
    asked.show_heads(posed, kept)
    experiments.show_rows()
