"""What surrounds every page: its looks, the keys behind `?`, and the tour of a first visit."""

from pathlib import Path

import state
import streamlit as st
from streamlit.components.v2 import component

HERE = Path(__file__).parent
LONG = (
    "site",
    "maps",
    "with",
    "other",
    "names",
    "word_names",
    "probed",
    "decomposed",
    "of",
    "intervention",
)
STYLE = (
    HERE.joinpath("page.css")
    .read_text("utf-8")
    .replace("LONG", ", ".join(f".st-key-{each}" for each in LONG))
)
TOUR = (
    ("A store is a model's vectors", "Choose one at the left. Every page shows only what belongs to it."),
    ("The first line answers", "Every page begins with its answer, in words with numbers; below it is one picture."),
    ("Marks go everywhere", "Lasso points on *Roles*, or choose tokens or a row of clusters: the same tokens are marked on all pages."),
    ("What is missing is made here", "A button runs the analysis beside the store; the command beside it does the same in a terminal."),
    ("Ask changes the model", "Type a question on *Ask*, exchange the roles of two tokens, and read the new answer beside the old one."),
)  # fmt: skip
KEYS = {
    "← →": "step through the samples",
    "Esc": "unmark",
    "Tab": "reach everything else",
    "Ctrl P": "print the page",
    "?": "show this list",
}
LISTEN = component("tprprobe_page", js=HERE.joinpath("page.js").read_text("utf-8"))


def show() -> None:
    """The looks, the keys behind `?`, and the tour until it was seen or left."""
    st.html(f"<style>{STYLE.replace('LINK', '#56B4E9' if state.is_dark() else '#0072B2')}</style>")
    with st.sidebar.container(key="keys"):
        st.button("Keys and tour ( ? )", on_click=_tell_keys, key="show-keys")
    LISTEN(key="listen")
    step = _step()
    if not step:
        return
    title, text = TOUR[step - 1]
    with st.container(border=True, key="guide-tour"):
        st.markdown(f"**{step} of {len(TOUR)} · {title}.** {text}")
        with st.container(horizontal=True):
            last = step == len(TOUR)
            st.button(
                "Done" if last else "Next step",
                on_click=_go,
                args=(0 if last else step + 1,),
                key="tour-next",
            )
            if not last:
                st.button("Leave the tour", on_click=_go, args=(0,), key="tour-leave")


@st.dialog("Keys")
def _tell_keys() -> None:
    st.markdown("  \n".join(f"**{key}** – {does}" for key, does in KEYS.items()))
    st.button("Take the tour", on_click=_go, args=(1,), key="tour-again")


def _step() -> int:
    """The step of the tour: 1 on the first visit, 0 when it was left; the address remembers."""
    text = st.query_params.get("tour", str(st.session_state.get("kept_tour", 1)))
    step = int(text) if text in {str(each) for each in range(len(TOUR) + 1)} else 0
    st.session_state["kept_tour"] = step
    return step


def _go(step: int) -> None:
    st.session_state["kept_tour"] = step
    st.query_params["tour"] = str(step)
