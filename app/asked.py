"""What was asked, to be clicked: strips of its tokens, small maps of its heads, and what is picked of them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import state
import streamlit as st
from streamlit.components.v2 import component

import tprprobe as tp

HERE = Path(__file__).parent
EXCHANGE, ABLATE = (
    "Exchange two tokens",
    "Ablate a head",
)  # what clicks on tokens, and on a head, mean
TOKENS, HEAD = (
    re.compile(r"[0-9]{1,4}(,[0-9]{1,4})*"),
    re.compile(r"([a-z0-9_.]{1,80}):([0-9]{1,3})"),
)
STAYS = """<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) {
  position: sticky; top: 0; z-index: 9; padding: 0.6rem 0; background: PAGE; box-shadow: 0.9rem 0 PAGE, -0.9rem 0 PAGE;
}
.st-key-asked-lead { max-height: 38vh; overflow-y: auto; }
@media (max-width: 768px) { [data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) { top: 3.6rem; } }
</style>"""
_mount = component(
    "tprprobe_asked",
    js=HERE.joinpath("asked.js").read_text("utf-8"),
    css="".join(HERE.joinpath(f"{name}.css").read_text("utf-8") for name in ("linked", "asked")),
)


def stay() -> Any:
    """A place for the answer, which stays in sight while what is below is clicked."""
    page = tp.dashboard.theme.look(state.is_dark()).page
    st.html(STAYS.replace("PAGE", page))
    return st.container(key="asked-lead")


def read_picks() -> str:
    """What is picked: what the address says, else what was picked before another page was read."""
    text = st.query_params.get("picked", st.session_state.get("kept_picked", ""))
    return text if TOKENS.fullmatch(text) or HEAD.fullmatch(text) else ""


def pick(text: str = "") -> None:
    """Picks tokens (``1,5``) or a head (``encoder.0.self.role:2``)."""
    st.session_state["turn_of_picks"] = st.session_state.get("turn_of_picks", 0) + 1
    st.session_state["picked_for"] = None
    _write(text)


def _write(text: str) -> None:
    """Remembers what is picked, in the address too."""
    st.session_state["kept_picked"] = text
    if not text:
        st.query_params.pop("picked", None)
    elif text != st.query_params.get("picked"):
        st.query_params["picked"] = text


def keep_for(*asked: str) -> None:
    """Keeps what is picked as long as it is for the same text and edit."""
    before = st.session_state.get("picked_for")
    if before is not None and before != asked:
        pick()
    st.session_state["picked_for"] = asked
    _write(read_picks())


def read_tokens(count: int, many: int = 2) -> list[int]:
    """The picked ones of so many tokens."""
    text = read_picks()
    found = dict.fromkeys(int(each) for each in text.split(",")) if TOKENS.fullmatch(text) else {}
    return [each for each in found if each < count][:many]


def read_head(heads: dict[str, range]) -> tuple[str, int] | None:
    """The picked one of some heads."""
    found = HEAD.fullmatch(read_picks())
    if found is None or int(found[2]) not in heads.get(found[1], ()):
        return None
    return found[1], int(found[2])


@st.cache_resource(max_entries=64, show_spinner=False)
def once(_make: Callable[[], Any], *key: Any) -> Any:
    """What was made for the same key before, else what is made now."""
    return _make()


def show_tokens(posed, kept, scene, edit) -> None:
    """The tokens that are clicked and, if the colors are of the answer's, these below."""
    here = None if scene is None else scene.on(kept.store)

    def pack():
        is_own = scene is not None and scene.side == posed.side
        make = tp.dashboard.browser_payload.pack_tokens
        own = "The caption" if posed.is_image else "What was asked"
        strips = [{"heading": own} | make(posed.tokens, here if is_own else None)]
        if scene is None or is_own:
            return strips
        tokens = kept.store.tokens
        written = tokens.loc[tokens["side"] == scene.side, "token"]
        return [*strips, {"heading": "The answer"} | make([*map(str, written)], here)]

    if scene is not None:
        with state.titled(f"Clusters of {scene.place}"):
            state.offer(lambda: _draw(kept, scene), "asked")
    look = scene and (state.store_name(), scene.place, scene.roles.k)
    strips = once(pack, "strips", str(kept.store.path), look)
    marked = [] if edit.change is None else [*edit.change.first, *edit.change.second]
    sent = {"strips": strips, "marked": marked or None, "many": edit.many, "advice": edit.advice}
    _show("tokens", sent)


def _draw(kept, scene):
    """The strips as a view, of a store that is there as long as ``kept`` is."""
    return tp.dashboard.show_strips(scene.on(kept.store), [0], None, state.is_dark())


def show_heads(posed, kept) -> None:
    """Small maps of all heads, and the picked one in full."""
    heads, dark = tp.dashboard.example_edits.list_heads(posed), state.is_dark()
    maps = tp.dashboard.choices.list_maps(kept.store)
    of_layer = {name.rpartition(".")[0]: name for name in heads}
    sites = {each: of_layer[at] for each in maps if (at := each.rpartition(".")[0]) in of_layer}
    if not sites:
        st.caption(state.escape(tp.dashboard.example_edits.tell_headless(posed)))
        return
    st.markdown("**Attention of every head** – click a map to ablate its head")
    pack = tp.dashboard.browser_payload.pack_heads
    _show("heads", once(lambda: pack(kept.store, sites, dark), "maps", str(kept.store.path), dark))
    head = read_head({of: heads[of] for of in sites.values()})
    if head is None:
        return
    site = next(name for name, of in sites.items() if of == head[0])
    with st.expander(f"{site}, head {head[1]}: its map in full, before the edit"):
        found = tp.dashboard.read_maps(kept.store, site, 0)
        state.show(tp.dashboard.show_matrix(kept.store, found, head[1], dark=dark), "asked-map")


def _show(kind: str, sent: dict[str, Any]) -> None:
    key = f"asked-{kind}"
    told = {"picked": read_picks(), "turn": st.session_state.get("turn_of_picks", 0)}
    _mount(data={"kind": kind} | sent | told, key=key, on_picked_change=lambda: _hear(key))


def _hear(key: str) -> None:
    """Takes over what the browser shows as picked already; heads are ablated, tokens exchanged."""
    text, turn = st.session_state[key].picked
    pick(str(text))
    st.session_state["turn_of_picks"] = int(turn)
    if HEAD.fullmatch(str(text)):
        st.session_state["what"] = ABLATE
    elif text and st.session_state.get("what") == ABLATE:
        st.session_state["what"] = EXCHANGE
