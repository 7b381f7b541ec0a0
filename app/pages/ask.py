"""Ask: a text or question to the model of the store, and what two exchanged words, or a head, do to what it says."""

import dialogue
import state
import streamlit as st
import widgets

import tprprobe as tp
from tprprobe.interventions import prompt_edits, prompts
from tprprobe.store.token_texts import visible

AFTER = "Then type a text, and click two words, which exchange vectors, or a head, whose output becomes 0: the page says what changes."
HOW = "The store names its model {}, which is neither shipped nor below the folder. Type its folder, or hf: with a folder or a hub id. A module that was attached in Python can be asked only there."
LONGEST = 300  # characters of what is said of a text that cannot be asked


def _find_model(store) -> str | None:
    """The name of the model: the store's, or what is typed here; one of transformers is loaded when that is asked for."""
    name = state.runs().find_model(store)
    recorded = tp.dashboard.contents.describe_store(store)["model"]
    if name is None:
        st.info(state.escape(HOW.format(recorded)))
        text = st.text_input("Model", key="model", max_chars=400, **state.KEEP) or ""
        name = text.strip() or None
    if name is None or not name.startswith("hf:"):
        return name
    if name not in (loaded := state.LOADED):
        st.button(state.escape(f"Load {name}"), type="primary", on_click=lambda: loaded.add(name))
        st.caption("It is read from there; a hub id that is not on this machine is downloaded.")
        if "text" in st.query_params:
            st.caption("Then the text of this address comes back, and what was picked in it.")
        st.markdown(AFTER)
        return None
    return name


def _show_answer(model, name: str, store, lead) -> None:
    """What the model says as it is, or what the change that is picked makes of it."""
    changes = tp.dashboard.changes
    experiments = st.session_state.setdefault("tried", {})
    prompt = dialogue.ask(model, name, store)
    heads = dialogue.find_heads(prompt, name)
    change = dialogue.choose_change(prompt, heads)
    plain = lambda: prompts.read_output(prompt, prompt_edits.list_inputs(prompt), store)  # noqa: E731
    output = state.once(plain, "said", name, prompt.text)
    table, answer = output.table, changes.summarize_said(prompt, output, store)
    with lead:
        if change is None:
            widgets.lead(answer)
        else:
            key = (name, prompt.text, change.description)
            attempt = lambda: prompt_edits.try_change(prompt, change, store)  # noqa: E731
            table, experiments[key] = state.once(attempt, *key)
            widgets.lead(changes.summarize_change(experiments[key]))
            st.caption(state.escape(f"Without the edit: {answer}"))
    widgets.table(changes.name_columns(table), 0, "%.3f", width="content")
    st.caption(state.escape(changes.explain(table)))
    dialogue.show_heads(prompt, heads)
    if not prompt.is_image:
        label, near = "Salience: which tokens count", output.table.iloc[0].get("sample")
        draw = lambda: dialogue.show_salience(prompt, name, near)  # noqa: E731
        widgets.fold(label, "salience", draw, "similar_to" in st.query_params)
        label = "Beside an edited text"
        draw = lambda: dialogue.show_beside(prompt, name, store)  # noqa: E731
        widgets.fold(label, "beside", draw, "edited" in st.query_params)
    if experiments:
        dialogue.show_experiments(experiments)


@state.page("Ask")
def ask() -> None:
    store = state.store()
    if "imported" in store.manifest:
        st.info("These vectors were imported, so there is no model to run.")
        return
    if (name := _find_model(store)) is None:
        return
    lead = st.container(key="asked-lead")  # stays in sight, see page.css
    try:
        model = state.load_readable(name)
        if not state.once(lambda: prompts.is_model_of(model, store), "own", name):
            st.warning("Its weights are not those that this store was made with.")
        _show_answer(model, name, store, lead)
    except tp.InputError as error:
        st.warning(state.escape(visible(error, LONGEST)))
