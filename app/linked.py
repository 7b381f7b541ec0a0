"""Parts of a page that share one mark in the browser: they mark at once, and the server is told afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import state
import streamlit as st
from streamlit.components.v2 import component

import tprprobe as tp

HERE = Path(__file__).parent
FORESEEN = 2_000_000  # numbers in a head's vectors
ADVICE = "Select points, tokens or clusters: the same tokens are marked in every view."
_mount = component(
    "tprprobe_linked",
    js=HERE.joinpath("linked.js").read_text("utf-8"),
    css=HERE.joinpath("linked.css").read_text("utf-8"),
)


def mount(kind: str, key: str, data: dict[str, Any]) -> None:
    """A part of the page (``map``, ``strips``) or a feed of it (``points``, ``names``, ``mark``)."""
    _mount(data={"kind": kind, **data}, key=key, on_mark_change=lambda: _hear(key))


def _hear(key: str) -> None:
    """Takes over the mark that the browser shows already; ``turn`` tells it from an older one."""
    text, turn = st.session_state[key].mark
    try:
        found = tp.dashboard.selection.read_mark(text)
    except tp.InputError:
        return
    state.set_mark(found)
    st.session_state["marked_in"] = ""  # what is selected in a chart is forgotten
    st.session_state["fed_mark"] = str(found) if found else ""
    st.session_state["turn_of_mark"] = int(turn)


def feed_mark(mark: Any) -> None:
    """Sends the mark of the address; the browser takes it if it knows no newer one."""
    text = str(mark) if mark else ""
    if text != st.session_state.get("fed_mark", text):  # marked by the server, or on another page
        st.session_state["turn_of_mark"] = st.session_state.get("turn_of_mark", 0) + 1
    st.session_state["fed_mark"] = text
    mount("mark", "feed-mark", {"text": text, "turn": st.session_state.get("turn_of_mark", 0)})


@st.cache_resource(max_entries=4, show_spinner=False)
def fill_scene(root: str, name: str, *given: Any) -> Any:
    return tp.dashboard.scene.fill(state.build_scene(root, name, *given))


@dataclass(frozen=True)
class Place:
    """Where the linked parts of a page look: a store, and site, head, number of clusters and method.

    With ``layers``, the names of the site in all layers, the map is of all of them.
    """

    root: str
    name: str
    given: Any  # site, head, number of clusters and method
    layers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells this scene from others in the browser."""
        return repr((state.open_store(self.root, self.name).fingerprint, self.given, self.layers))

    def scene(self, whole: bool = False) -> Any:
        """The scene of the map; ``whole``: with every token of the store."""
        if self.layers:
            site, head, k, method = self.given
            return state.layers(site, head, k, method, self.layers)
        build = fill_scene if whole else state.build_scene
        return build(self.root, self.name, *self.given)

    def show_map(self, field: str) -> None:
        mount("map", "linked-map", {"scene": self.key, "advice": ADVICE} | pack_map(self, field))

    def show_strips(self, samples: Sequence[int], mark: Any) -> None:
        """Samples as strips, under their title with its exports."""
        packing, scene = (
            tp.dashboard.browser_payload,
            state.build_scene(self.root, self.name, *self.given),
        )
        with state.titled(f"Clusters of {scene.place}"):
            state.offer(
                lambda: tp.dashboard.show_strips(scene, samples, mark, state.is_dark()),
                f"strips-{self.name}",
            )
        mount("strips", "linked-strips", {"scene": self.key} | packing.pack_strips(scene, samples))

    def show_beside(self, scenes: Sequence[Any], first: int, second: int, strips: Any) -> None:
        """The same sample of a second store; its tokens are marked with those at their positions."""
        views, (own, other) = tp.dashboard, scenes

        def draw() -> Any:
            plain = views.show_strips(other, [second])
            same = views.comparison.carry_mark(strips, plain, other)
            return views.show_strips(other, [second], same, state.is_dark())

        with state.titled(f"Clusters of {other.place}"):
            state.offer(draw, "strips-second")
        sent = views.browser_payload.pack_strips(other, [second], own, [first])
        sent["names"] = views.browser_payload.pack_names(other)
        mount("strips", "linked-beside", {"scene": self.key} | sent)

    def feed_points(self, whole: bool = False) -> None:
        """The drawn points; ``whole``: those of every token, which take longer."""
        key = "feed-all" if whole else "feed-points"
        mount("points", key, {"scene": self.key} | pack_points(self, whole))

    def feed_names(self) -> None:
        names = tp.dashboard.browser_payload.pack_names(
            state.build_scene(self.root, self.name, *self.given)
        )
        if names is not None:
            mount("names", "feed-names", {"scene": self.key, "names": names})


def show_rows(store: Any, maps: Any, head: int, rows: Sequence[int]) -> None:
    """The attention of some queries as strips of keys, under their title with its exports."""
    views, dark = tp.dashboard, state.is_dark()
    with state.titled(f"{maps.site}, head {head}, sample {maps.sample}: rows"):
        state.offer(lambda: views.attention.show_rows(store, maps, head, rows, dark), "rows")
    mount(
        "strips",
        "linked-rows",
        {"scene": ""} | views.browser_payload.pack_rows(maps, head, rows, dark),
    )
    st.caption(state.escape(views.attention.PERCENT))


@st.cache_resource(max_entries=32, show_spinner=False)
def pack_map(place: Place, field: str) -> Any:
    return tp.dashboard.browser_payload.pack_map(place.scene(), field)


@st.cache_resource(max_entries=16, show_spinner=False)
def pack_points(place: Place, whole: bool) -> Any:
    return tp.dashboard.browser_payload.pack_points(place.scene(whole))


def foresee(place: Place, heads: int) -> None:
    """Makes the scenes of the heads beside this one, so that they are there when they are chosen.

    Not of wide vectors, which take longer than somebody who chooses another head should wait.
    """
    site, head, *given = place.given
    scene = state.build_scene(place.root, place.name, *place.given)
    if scene.roles.centers.shape[1] * len(scene.rows) > FORESEEN:
        return
    for other in {(head + 1) % heads, (head - 1) % heads} - {head}:
        pack_map(Place(place.root, place.name, (site, other, *given)), "cluster")
