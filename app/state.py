"""State that the pages share: the runs, the chosen store, marks, and how a view is shown and
exported.
"""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

import tprprobe as tp

CHOSEN: set[str] = set()  # what the main file has offered, once it ran
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["toImage", "autoScale2d"]}
LINKED = {
    "store",
    "site",
    "maps",
    "head",
    "k",
    "colour",
    "task",
    "names",
    "of",
    "scheme",
}  # choices
NUMBERS = {"head", "k"}
KEEP: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}


@st.cache_resource(ttl=30, show_spinner=False)
def find_runs(root: str) -> Any:
    return tp.dashboard.folders.find_runs(root)


@st.cache_resource(max_entries=32, show_spinner="Opening the store …")
def open_store(root: str, name: str) -> Any:
    return find_runs(root).open(name)


@st.cache_resource(
    max_entries=16,
    show_spinner="Clustering and placing the vectors (UMAP: minutes, the first time) …",
)
def build_scene(root: str, name: str, *given: Any) -> Any:
    return tp.dashboard.build_scene(open_store(root, name), *given)


@st.cache_resource(max_entries=4, show_spinner="Placing the vectors of all layers …")
def stack_layers(root: str, name: str, sites: tuple[str, ...], method: str, *given: Any) -> Any:
    plane = "pca" if method == "umap" else method
    scene = build_scene(root, name, *given, method)
    return tp.dashboard.scene.stack_layers(scene, sites, plane)


def root() -> str:
    return sys.argv[1] if len(sys.argv) > 1 else "runs"


def runs() -> Any:
    return find_runs(root())


def follow_link() -> None:
    """Takes over what a link of a statement chooses: what was chosen before on its page is forgotten."""
    if st.query_params.get("link") is None:
        return
    del st.query_params["link"]
    for key in LINKED & {*st.query_params}:
        value = st.query_params[key]
        if value.isdecimal() or key not in NUMBERS:
            st.session_state[key] = int(value) if key in NUMBERS else value


def choose_store() -> None:
    """The choice of a store in the sidebar; the first that opens, unless the address names one that is there."""
    CHOSEN.add("store")
    names, asked = runs().names("store"), st.query_params.get("store")
    if names:
        first = next((i for i, name in enumerate(names) if _opens(name)), 0)
        st.sidebar.selectbox("Store", names, first, key="store", **KEEP)
        if asked and asked not in names:
            st.sidebar.warning("No store has the name in the address; the one above is shown.")
            st.sidebar.text(asked)
    st.sidebar.caption(f"Below `{root()}`; nothing else is read.")


def _opens(name: str) -> bool:
    try:
        open_store(root(), name)
    except tp.InputError:
        return False
    return True


def store_name() -> str:
    """The name of the chosen store; a page without one ends with what to do."""
    if not st.session_state.get("store"):
        st.info("No stores here yet. `tprprobe demo` makes one, `tprprobe extract` any other.")
        st.stop()
    return st.session_state["store"]


def store() -> Any:
    return open_store(root(), store_name())


def scene(site: str, head: int | None, k: int, method: str = "pca") -> Any:
    return build_scene(root(), store_name(), site, head, k, method)


def layers(site: str, head: int | None, k: int, method: str, sites: tuple[str, ...]) -> Any:
    """The scene of a site's vectors in all layers, of which ``sites`` are the names."""
    return stack_layers(root(), store_name(), sites, method, site, head, k)


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def page(title: str) -> Callable[[Callable[[], None]], None]:
    """Runs a page's function under its title; bad input becomes a message.

    A page that is a fresh server's first is run by streamlit alone: the main file then runs it.
    """

    def run(draw: Callable[[], None]) -> None:
        if "store" not in CHOSEN:
            runpy.run_path(str(Path(__file__).with_name("main.py")))
            return
        st.title(title)
        try:
            draw()
        except tp.InputError as error:
            st.warning("This cannot be shown.")
            st.text(str(error))

    return run


def plugged(plugin: Any) -> Callable[[], None]:
    """The page of a plug-in, which is imported when it is opened and draws a chosen store."""
    return lambda: page(plugin.title or plugin.name.capitalize())(lambda: plugin.load()(store()))


def mark() -> Any:
    """The marked tokens: what the address says, else what was marked on another page."""
    text = st.query_params.get("mark", st.session_state.get("kept_mark", ""))
    try:
        found = tp.dashboard.selection.read_mark(text)
    except tp.InputError:
        found = None
    set_mark(found)
    return found


def set_mark(found: Any) -> None:
    """Marks tokens in all views (None: no tokens), in the address too."""
    text = st.session_state["kept_mark"] = str(found) if found else ""
    if not text and "mark" in st.query_params:
        del st.query_params["mark"]
    elif text != st.query_params.get("mark", ""):
        st.query_params["mark"] = text


def marked_by(key: str, read: Callable[[Any], Any]) -> Callable[[], None]:
    """The function called when something is selected in the chart or table ``key``.

    Selections in other charts are forgotten: there is one mark.
    """

    def react() -> None:
        set_mark(read(st.session_state[key].selection))
        st.session_state["marked_in"] = key
        st.session_state["turn"] = st.session_state.get("turn", 0) + 1

    return react


def key_of(name: str) -> str:
    """The key of a chart; a new one once something is selected elsewhere, which clears it."""
    turns = st.session_state.setdefault("turns", {})
    if not str(st.session_state.get("marked_in", "")).startswith(f"{name}:"):
        turns[name] = st.session_state.get("turn", 0)
    return f"{name}:{turns.get(name, 0)}"


def show(view: Any, name: str, read: Callable[[Any], Any] | None = None) -> None:
    """A view as a chart, with its export; ``read`` makes a mark of what is selected in it."""
    given: dict[str, Any] = {"config": CONFIG, "theme": None, "alt": view.title}
    with st.container(key=f"view-{name}"):  # stays whole on paper
        with titled(view.title):
            offer(lambda: view, name)
        if read is None:
            st.plotly_chart(view.chart, key=name, **given)
        else:
            key = key_of(name)
            st.plotly_chart(view.chart, key=key, on_select=marked_by(key, read), **given)
        if view.note:
            st.caption(escape(view.note))


def show_rows(view: Any, name: str) -> list[int]:
    """A view as a chart, with its export; the rows of its data behind the points that are chosen."""
    given: dict[str, Any] = {"config": CONFIG, "theme": None, "alt": view.title}
    with st.container(key=f"view-{name}"):
        with titled(view.title):
            offer(lambda: view, name)
        event = st.plotly_chart(view.chart, key=name, on_select="rerun", **given)
        st.caption(escape(view.note))
    return [
        int(point["customdata"][0]) for point in event.selection.points if point.get("customdata")
    ]


def titled(title: str) -> Any:
    """A view's title, and the pop-up beside it that holds its exports."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", wrap=False
    ):
        st.markdown(f"**{escape(title)}**")
        return st.popover("Export")


def offer(make: Callable[[], Any], name: str, of: str = "") -> None:
    """One button per format; the view and its file are made when it is pressed."""
    for kind, mime in tp.dashboard.formats.FORMATS.items():
        st.download_button(
            f"{of}{kind.upper()}",
            lambda kind=kind: make().export(kind),
            f"{name}.{kind}",
            mime,
            key=f"{name}-{kind}",
            on_click="ignore",
            width="stretch",
        )


def escape(text: str) -> str:
    """The text for Markdown: nothing in it works."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]()#+-.!|<>$~:&^=" else each for each in text)


def choose_sample(count: int) -> int:
    """The chosen sample of ``count``; ← and → step through them."""
    last = max(count - 1, 0)
    st.session_state["sample"] = min(st.session_state.get("sample", 0), last)

    def step(by: int) -> None:
        st.session_state["sample"] = min(max(st.session_state.get("sample", 0) + by, 0), last)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.number_input("Sample", 0, last, key="sample", width=160, **KEEP)
        st.button("Previous", on_click=step, args=(-1,), shortcut="Left", key="previous")
        st.button("Next", on_click=step, args=(1,), shortcut="Right", key="next")
        st.caption(f"of {count:,}")
    return int(chosen)


def tell_mark(found: Any, marked: Any) -> None:
    """Shows the number of marked tokens, and a button that unmarks them."""
    if found is None:
        st.caption("Select points, tokens or rows: the same tokens are marked in every view.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(f"{int(marked.sum()) if marked is not None else 0:,} tokens are marked")
        st.button("Unmark", on_click=_unmark, shortcut="Esc", key="unmark")


def _unmark() -> None:
    set_mark(None)
    st.session_state["marked_in"] = ""
    st.session_state["turn"] = st.session_state.get("turn", 0) + 1


def tell_unclaimed(*kinds: str) -> None:
    """One line about results that do not say of which store they are, and so are not shown."""
    if unclaimed := runs().unclaimed(store(), *kinds):
        st.caption(
            "Not shown, as they do not say of which store they are (made by an earlier version; make "
            f"them again): {', '.join(map(escape, unclaimed))}"
        )


@st.cache_resource(ttl=60, max_entries=4, show_spinner="Reading the probes …")
def read_probes(root: str, name: str) -> Any:
    return tp.dashboard.findings.read_probes(
        find_runs(root).beside(open_store(root, name), "probes")
    )


@st.cache_resource(ttl=60, max_entries=8, show_spinner="Reading what is known …")
def summarize(root: str, name: str) -> Any:
    return tp.dashboard.run_summary.summarize(find_runs(root), open_store(root, name))


@st.cache_resource(max_entries=8, show_spinner="Comparing the heads …")
def tell_attention(root: str, name: str) -> Any:
    return tp.dashboard.headlines.tell_heads(open_store(root, name))


@st.cache_resource(max_entries=8, show_spinner="Fitting bindings …")
def fit_roles(root: str, name: str, run: str, site: str, roles: str, rank: str) -> Any:
    folder = find_runs(root).folder("decompositions", run)
    return tp.dashboard.role_fits.fit_roles(open_store(root, name), folder, site, roles, rank)


@st.cache_resource(max_entries=2, show_spinner="Loading the model …")
def load_asked(folder: str) -> Any:
    return tp.dashboard.live_example.load_asked(folder)


@st.cache_resource(max_entries=8, show_spinner="Asking …")
def pose(folder: str, text: str) -> Any:
    return tp.dashboard.live_example.pose(load_asked(folder), text)


@st.cache_resource(max_entries=8, show_spinner="Asking …")
def pose_image(folder: str, number: int) -> Any:
    return tp.dashboard.live_example.pose_image(load_asked(folder), number)


@st.cache_resource(max_entries=8, show_spinner="Reading roles and attention …")
def keep_asked(folder: str, text: str, _posed: Any) -> Any:
    return tp.dashboard.live_example.keep(_posed)


def answer_changed(folder: str, store: Any, states: Any, at: int, filler: str) -> Any:
    """What the model in a folder writes if a filler is changed in a sample's states."""
    return tp.dashboard.role_fits.answer_changed(load_asked(folder), store, states, at, filler)
