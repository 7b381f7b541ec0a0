"""Parts of a page that the browser draws itself: maps, strips and attention that share one mark, tokens and heads to pick."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import state
import streamlit as st
import widgets
from streamlit.components.v2 import component

import tprprobe as tp

FOLDER = Path(__file__).parent
ADVICE = "Select points, tokens or clusters: the same tokens are marked in every view."
TOKENS, HEAD = r"[0-9]{1,4}(,[0-9]{1,4})*", r"([a-z0-9_.]{1,80}):([0-9]{1,3})"
# The script becomes one module for all mounts of a page, which therefore share its variables. A message that equals the
# last run's is not sent again, so large data have mounts of their own; two mounts with one key are an error.
_mount = component(
    "tprprobe_canvas",
    js=FOLDER.joinpath("canvas.js").read_text("utf-8"),
    css=FOLDER.joinpath("canvas.css").read_text("utf-8"),
)


def mount(kind: str, key: str, data: dict[str, Any]) -> None:
    """A part of the page (``map``, ``strips``, ``attend``) or a feed of it (``points``, ``mark``)."""
    _mount(data={"kind": kind, **data}, key=key, on_mark_change=lambda: _hear(key))


def _hear(key: str) -> None:
    """Takes over the mark that the browser shows already; ``turn`` tells it from an older one."""
    text, turn = st.session_state[key].mark
    try:
        mark = tp.dashboard.marks.read_mark(text)
    except tp.InputError:
        return
    state.set_mark(mark)
    st.session_state["fed_mark"] = str(mark or "")
    st.session_state["turn_of_mark"] = int(turn)


def feed_mark(mark: Any) -> None:
    """Sends the mark of the address; the browser takes it if it knows no newer one."""
    text, turn = str(mark or ""), st.session_state.get("turn_of_mark", 0)
    turn += text != st.session_state.get("fed_mark", text)  # marked by the server, or elsewhere
    st.session_state.update(fed_mark=text, turn_of_mark=turn)
    mount("mark", "feed-mark", {"text": text, "turn": turn})


def offer_picks(key: str, groups: list[dict[str, Any]], hear: Any = None, **sent: Any) -> None:
    """Tokens or heads that are picked by a click; :func:`read_picks` says which, unless ``hear`` takes what is picked."""
    data = {"kind": "picks", "groups": groups, "picked": read_picks(), "advice": ""} | sent
    take = lambda: (hear or pick)(str(st.session_state[key].picked))  # noqa: E731
    _mount(data=data, key=key, on_picked_change=take)


def choose_head(text: str) -> None:
    if match := re.fullmatch(HEAD, text):
        st.session_state.update(maps=tp.figures.labels.site_label(match[1]), head=int(match[2]))


def show_head(store: Any, maps: Any, head: int) -> None:
    """The weights of a head as lines between words, and as a map beside them."""
    with st.container(key="pair"):
        words, squares = st.columns(2)
    with words:
        mount("attend", "linked-attend", tp.dashboard.attention.pack_attention(maps, head))
    with squares:
        widgets.show(tp.dashboard.attention.show_matrix(store, maps, head), "matrix")


def read_picks() -> str:
    """What is picked: what the address says, else what was picked before another page was read."""
    text = st.query_params.get("picked", st.session_state.get("kept_picked", ""))
    st.session_state["kept_picked"] = text if re.fullmatch(f"{TOKENS}|{HEAD}", text) else ""
    return st.session_state["kept_picked"]


def pick(text: str = "") -> None:
    """Picks tokens (``1,5``) or a head (``encoder.0.self.role:2``), in the address too."""
    state.set_address("picked", text)


def read_tokens(count: int) -> list[int]:
    """The picked ones of so many tokens, at most two."""
    text = read_picks()
    tokens = dict.fromkeys(map(int, text.split(","))) if re.fullmatch(TOKENS, text) else {}
    return [token for token in tokens if token < count][:2]


def read_head(heads: Mapping[str, Any]) -> tuple[str, int] | None:
    """The picked one of some heads, whose sites have a map for each."""
    if (match := re.fullmatch(HEAD, read_picks())) is None:
        return None
    layer = match[1].rpartition(".")[0]  # whichever of its vectors the address names
    site = next((name for name in heads if name.rpartition(".")[0] == layer), "")
    return (site, int(match[2])) if int(match[2]) < len(heads.get(site, ())) else None


@st.cache_resource(max_entries=4, show_spinner=False)
def _fill(root: str, name: str, *options: Any) -> Any:
    return tp.dashboard.scene.fill(state.build_scene(root, name, *options))


@dataclass(frozen=True)
class Place:
    """Where the linked parts of a page look: a store, site, head, number of clusters and method; with ``where``, the map of a slice."""

    root: str
    name: str
    options: Any  # site, head, number of clusters and method
    where: str = ""

    @property
    def key(self) -> str:
        """What tells this scene from others in the browser."""
        store = state.open_store(self.root, self.name)
        return repr((store.fingerprint, self.options, self.where))

    def scene(self, complete: bool = False) -> Any:
        """The scene of the map; ``complete``: with every token of the store."""
        build = _fill if complete else state.build_scene
        scene = build(self.root, self.name, *self.options)
        return tp.dashboard.slices.take_slice(scene, self.where) if self.where else scene

    def show_map(self, field: str) -> None:
        maps = tp.dashboard.maps
        packed = state.once(lambda: maps.pack_map(self.scene(), field), self.key, field)
        names = maps.pack_names(replace(self, where="").scene())
        look = {"scene": self.key, "advice": ADVICE, "names": names}
        mount("map", "linked-map", look | packed)

    def show_strips(self, samples: Sequence[int], mark: Any, field: str = "cluster") -> None:
        """Samples as strips, under their title with its exports."""
        views, scene = tp.dashboard, replace(self, where="").scene()
        view = partial(views.show_strips, scene, samples, mark, field, self.where)
        widgets.head(f"{scene.place}, colored by {field}", view, f"strips-{self.name}")
        packed = views.strips.pack_strips(scene, samples, where=self.where, field=field)
        mount("strips", "linked-strips", {"scene": self.key} | packed)

    def show_pair(self, scenes: Sequence[Any], samples: tuple[int, int]) -> None:
        """The same sample of a second store; its tokens are marked with those at their positions."""
        views, (left, right) = tp.dashboard, scenes
        title = f"{right.place}, colored by cluster"
        widgets.head(title, lambda: views.show_strips(right, [samples[1]]), "strips-second")
        packed = views.strips.pack_strips(right, [samples[1]], left, [samples[0]])
        mount("strips", "linked-beside", {"scene": self.key} | packed)

    def feed_points(self, complete: bool = False) -> None:
        """The drawn points; ``complete``: those of every token, which take longer."""
        key, pack = "feed-all" if complete else "feed-points", tp.dashboard.maps.pack_points
        packed = state.once(lambda: pack(self.scene(complete)), self.key, key)
        mount("points", key, {"scene": self.key} | packed)
