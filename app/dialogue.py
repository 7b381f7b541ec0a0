"""What is asked of a store's model, and the change that is picked: two tokens that exchange vectors, or a head."""

from typing import Any

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp
from tprprobe.interventions import prompt_edits, prompts
from tprprobe.store.token_texts import visible

NOTHING = "It has nothing to exchange."
MAX_LAYERS = 8  # layers whose maps are shown at once


def ask(model, name: str, store) -> Any:
    """What is asked, a text or an image; what was picked for another one is dropped."""
    if prompts.reads_images(model):
        number = int(st.number_input("Image", 0, 9999, key="image", **state.KEEP))
        prompt = state.once(lambda: prompts.query_image(model, number), "asked", name, number)
    else:
        text = _read_text(store)
        prompt = state.once(lambda: prompts.query_text(model, text), "asked", name, text)
    if st.session_state.get("picked_for", prompt.text) != prompt.text:
        canvas.pick()
    st.session_state["picked_for"] = prompt.text
    return prompt


def _read_text(store) -> str:
    """The text that is asked; another store begins with a text of its own."""
    texts, name = tp.dashboard.contents.read_texts(store), state.store_name()
    default = str(texts.iloc[0]) if len(texts) else ""
    if st.session_state.get("asked_of", name) != name:
        st.session_state["text"] = default
    st.session_state["asked_of"] = name
    is_known = "text" in st.session_state or "text" in st.query_params
    value = "" if is_known else default
    return st.text_area("Text", value, max_chars=4000, key="text", height=95, **state.KEEP)


def choose_change(prompt, heads) -> Any:
    """The change that is picked: a head, or two tokens and the kind of vectors that they exchange; None without."""
    views, head = tp.dashboard.changes, canvas.read_head(heads)
    kinds = list(prompt_edits.list_kinds(prompt))
    tokens, kind, change = canvas.read_tokens(len(prompt.tokens)), None, None
    with widgets.controls():
        if kinds:
            has_first = "roles" in kinds or prompt.is_image or not prompts.has_head(prompt.model)
            index = 0 if has_first else len(kinds) // 2
            kind = widgets.choose("Two tokens exchange their", kinds, "kind", index)
    if head:
        change = prompt_edits.ablate_head(*head)
    elif ":" in canvas.read_picks():
        st.caption(state.escape(f"The model has no head {canvas.read_picks()}."))
    elif kind and len(tokens) == 2:
        change = prompt_edits.exchange_tokens(prompt, kind, *tokens)
    missing = "a second token" if len(tokens) == 1 else "two tokens"
    advice = f"Click {missing}: they exchange their {kind}." if kind else NOTHING
    marked = [*change.first_word, *change.second_word] if change and not head else None
    canvas.offer_picks("asked-tokens", views.pack_tokens(prompt), marked=marked, advice=advice)
    with st.container(horizontal=True, vertical_alignment="center", key="pairs"):
        for number, (label, *pair) in enumerate(prompt_edits.list_pairs(prompt) if kind else []):
            tokens = ",".join(map(str, pair))
            st.button(state.escape(label), f"pair-{number}", on_click=canvas.pick, args=(tokens,))
    return change


def find_heads(prompt, name: str) -> dict:
    """The attention maps of all heads; of a model with many layers once one is picked, or all are asked for."""
    is_asked = st.session_state.get("every_head") or ":" in canvas.read_picks()
    if len(prompt_edits.list_heads(prompt)) > MAX_LAYERS and not is_asked:
        return {}
    return state.once(lambda: prompt_edits.find_heads(prompt), "heads", name, prompt.text)


def show_heads(prompt, heads) -> None:
    """Small maps of all heads; a click enlarges one, and ablates it."""
    count = len(prompt_edits.list_heads(prompt))
    if not count:
        st.caption("This model has no attention heads, so none can be ablated.")
    elif count <= MAX_LAYERS or st.toggle(
        f"Attention heads of all {count} layers", canvas.read_head(heads) is not None, "every_head"
    ):
        views = tp.dashboard.attention
        ramp = tp.figures.theme.find_theme(state.is_dark()).scale
        st.caption(f"{widgets.AXES} A click enlarges a map, and the output of its head becomes 0.")
        canvas.offer_picks("asked-heads", views.pack_heads(heads), ramp=ramp)
        if place := canvas.read_head(heads):
            site, head = place
            maps = views.read_prompt(site.rpartition(".")[0], prompt.tokens, heads[site])
            canvas.show_head(None, maps, head)


def show_salience(prompt, name: str, near: int | None) -> None:
    """Which tokens the answer depends on; of a model without a head, the similarity to another text: the ``near`` sample's."""
    views, reference = tp.dashboard.text_views, ""
    if near is not None:
        nearest = tp.dashboard.contents.read_texts(state.store())[near][: prompts.MAX_CHARACTERS]
        label, hint = "Similar to which text?", f"the nearest sample: {visible(nearest, 90)}"
        look: dict[str, Any] = {"max_chars": 400, "key": "similar_to"} | state.KEEP
        typed = st.text_input(label, placeholder=hint, **look)
        reference = typed or nearest
    measure = lambda: views.salience(prompt.model, prompt.text, against=reference)  # noqa: E731
    table = state.once(measure, "salience", name, prompt.text, reference)
    st.markdown(state.escape(widgets.write_minus(views.summarize_salience(table))))
    widgets.show(views.show_salience(table, reference), "salience")


def show_beside(prompt, name: str, store) -> None:
    """The text beside an edited one: what is said, states and attention of both."""
    views = tp.dashboard.text_views
    look: dict[str, Any] = {"max_chars": 4000, "key": "edited"} | state.KEEP
    edited_text = st.text_area("The text, edited", prompt.text, **look)
    if not edited_text or " ".join(edited_text.split()) == prompt.text:
        st.caption("Change a word: answers, states and attention are compared token by token.")
        return
    compare = lambda: views.compare_texts(prompt.model, prompt.text, edited_text, store)  # noqa: E731
    texts = state.once(compare, "beside", name, prompt.text, edited_text)
    st.markdown(state.escape(widgets.write_minus(views.summarize_texts(texts))))
    if len(texts.outputs):
        outputs = texts.outputs.rename(columns={"text": "this text", "against": "the edited text"})
        columns = tp.dashboard.changes.name_columns(outputs)
        widgets.table(columns, 0, "%.3f", width="content")
    widgets.show(views.show_text_states(texts), "text-states")
    if len(texts.heads):
        widgets.show(views.show_text_heads(texts), "text-heads")


def show_experiments(experiments: dict) -> None:
    """The table of everything that was tried in this tab of the browser, the newest first."""
    table = tp.dashboard.changes.tabulate(list(experiments.values()))
    st.subheader("Experiments")
    widgets.table(table, digits="%.3f")
    clear: Any = lambda: (experiments.clear(), canvas.pick())  # noqa: E731
    st.button("Clear the table", on_click=clear)
