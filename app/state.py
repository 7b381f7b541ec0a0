"""State that the pages share: the runs, the chosen store, marks, and what was computed for them."""

import re
import runpy
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

import tprprobe as tp

FIRST_PAGE = threading.Event()  # is set once it is drawn
OFFERED: set[str] = set()  # what the main file has offered, once it ran
LOADED: set[str] = set()  # the models of transformers that a click has loaded, in any tab
LINKED = {"store", "head", "k", "color", "task", "names", "scheme", "intervention", "edit"}
SITES = {"site", "maps", "of", "other"}
NUMBERS, COUNTED = {"head", "k"}, {"k", "sample", "image"}
KEEP: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
SPECIAL = "\\`*_{}[]()#+-.!|<>$~:&^="  # of Markdown
ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
NO_STORES = "No stores here yet. `tprprobe demo` makes an example, `tprprobe extract` a store of any model; then reload this page."
MAKES = "tprprobe demo --out {0}/demo\ntprprobe extract --ckpt MODEL --data DATA --out {0}/MODEL"
SLICES = "Only some tokens, such as `length=5-10` or `COLUMN=VALUE|ANOTHER`. Columns: length, {}"
SLICED = "The slice {} chooses samples, and tokens of the map of Roles. Names, first lines and scores are of all tokens, but for the tables of slices on Overview and Probes."
PLACING = "Clustering the vectors and placing them on a map (UMAP takes minutes) …"


@st.cache_resource(ttl=30, show_spinner=False)
def find_runs(root: str) -> Any:
    return tp.dashboard.folders.find_runs(root)


@st.cache_resource(max_entries=32, show_spinner="Opening the store …")
def open_store(root: str, name: str) -> Any:
    return find_runs(root).open(name)


@st.cache_resource(max_entries=16, show_spinner=PLACING)
def build_scene(root: str, name: str, *options: Any) -> Any:
    """The clusters of a head and their map; ``options``: site, head, number of clusters, method."""
    return tp.dashboard.build_scene(open_store(root, name), *options)


@st.cache_resource(ttl=60, max_entries=64, show_spinner="Reading …")
def _once(_make: Callable[[], Any], *key: Any) -> Any:
    return _make()


def once(make: Callable[[], Any], *key: Any) -> Any:
    """What was made of the chosen store for the same key in the last minute, else what is made now."""
    return _once(make, root(), st.session_state.get("store"), *key)


@st.cache_resource(max_entries=2, show_spinner="Loading the model …")
def load_readable(name: str) -> Any:
    from tprprobe.interventions.prompts import load_readable as read  # with what models need

    return read(name)


def root() -> str:
    return sys.argv[1] if len(sys.argv) > 1 else "runs"


def runs() -> Any:
    return find_runs(root())


def forget() -> None:
    find_runs.clear()
    _once.clear()


def follow_link() -> None:
    """Takes over what a link of a statement chooses: what was chosen before on its page is forgotten."""
    for name in COUNTED & {*st.query_params}:  # a number that streamlit cannot read ends the page
        if not re.fullmatch("[0-9]{1,9}", st.query_params[name]):
            del st.query_params[name]
    st.session_state.setdefault("sample", int(st.query_params.get("sample", 0)))  # in a fresh tab
    for name in SITES & {*st.query_params}:  # an address may hold a site's name
        label = tp.figures.labels.site_label(address := st.query_params[name])
        if label != address:
            try:
                st.query_params[name] = label
            except StreamlitAPIException:  # a link to the same page, whose choice is there
                st.session_state[name] = label
            else:
                st.rerun()
    if st.query_params.get("link") is None:
        return
    del st.query_params["link"]
    if "mark" in st.query_params:  # of the place that is linked
        st.session_state.pop("marked_at", None)
    for name in LINKED & {*st.query_params}:
        value = st.query_params[name]
        if re.fullmatch("[0-9]{1,9}", value) or name not in NUMBERS:
            st.session_state[name] = int(value) if name in NUMBERS else value


def show_result(path: Path, key: str) -> None:
    """Chooses the store of that folder, or the result where ``key`` chooses one, when the page is drawn next."""
    name = path.relative_to(runs().root.parent).as_posix()
    st.session_state["next_store" if name in runs().names("store") else f"next_{key}"] = name


def choose_store() -> None:
    """The choice of a store in the sidebar; the first that opens, unless the address names one that is there."""
    OFFERED.add("store")
    names, linked = runs().names("store"), st.query_params.get("store")
    if names:
        if name := st.session_state.pop("next_store", None):
            st.session_state["store"] = linked = name
        first = next(filter(_opens, names), names[0])
        alike = [name for name in names if name.endswith(f"/{linked}")] if linked else [first]
        is_new = bool(linked) or "store" not in st.session_state
        if linked not in names and len(alike) == 1 and is_new:
            st.query_params["store"] = alike[0]  # a link may leave out the folders above, or all
            st.rerun()
        if linked not in names and st.session_state.get("store") is None:
            st.session_state["store"] = first
        name = st.sidebar.selectbox("Store", names, None, key="store", **KEEP)  # in every address
        st.sidebar.caption(escape(name or ""))  # whole: a list cuts long names
        if linked and linked not in names:
            st.warning(escape(f"No store {linked[:120]} here: this is {name}; the list has all."))


def _opens(name: str) -> bool:
    try:
        open_store(root(), name)
    except tp.InputError:
        return False
    return True


def store_name() -> str:
    """The name of the chosen store; a page without one ends with what to do."""
    if not st.session_state.get("store"):
        st.info(NO_STORES)
        st.code(MAKES.format(shlex.quote(root())), language="bash", wrap_lines=True)
        st.stop()
    return st.session_state["store"]


def store() -> Any:
    return open_store(root(), store_name())


def find_store() -> Any:
    """The chosen store; None where there is none, as beside results that need no store to be shown."""
    return store() if st.session_state.get("store") else None


def choose_slice() -> None:
    """The slice in the sidebar, which every page keeps, those that are saved, and how many tokens it has."""
    views = tp.dashboard.slices
    if (current_store := find_store()) is None:
        return
    side = views.find_side(current_store)
    columns = ", ".join(map(str, current_store.tokens))
    look: dict[str, Any] = {"placeholder": "all tokens", "help": SLICES.format(escape(columns))}
    text = st.sidebar.text_input("Slice", key="slice", max_chars=300, **look, **KEEP)
    where, saved = (text or "").strip(), views.read_slices(current_store)
    problem = slice_problem(side) if where else ""
    with st.sidebar.container(horizontal=True, key="slices"):
        for text in saved:
            choice = {"slice": "" if text == where else text}
            kind = "primary" if text == where else "secondary"
            look = {"on_click": st.session_state.update, "args": (choice,), "type": kind}
            st.button(escape(text), f"slice-{text}", **look)
        if where and not problem:
            label = "Forget this slice" if where in saved else "Save this slice"
            st.button(label, on_click=views.save_slice, args=(current_store, where))
    if where:
        n = 0 if problem else int(views.find_slice(current_store, side, where).sum())
        st.sidebar.caption(escape(problem or f"{n:,} {side} tokens"))
    if problem:
        st.warning(escape(f"All tokens are shown, since the slice cannot be taken: {problem}."))
    elif where:
        st.caption(escape(SLICED.format(f"‘{where}’")))


def slice_problem(side: str, text: str = "") -> str:
    """Why a slice (without a text the chosen one) cannot be taken of a side's tokens; empty if it can."""
    try:
        tp.dashboard.slices.find_slice(store(), side, text or where(""))
    except tp.InputError as error:
        return str(error)
    return ""


def where(side: str) -> str:
    """The chosen slice, as text; empty without one, and on a side of which it cannot be taken."""
    text = (st.session_state.get("slice") or "").strip()
    return "" if side and text and slice_problem(side) else text


def list_slices(side: str) -> list[str]:
    """The slices that are saved, and the chosen one, of those that can be taken of a side."""
    texts = dict.fromkeys([*tp.dashboard.slices.read_slices(store()), where(side)])
    return [text for text in texts if text and not slice_problem(side, text)]


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def page(title: str) -> Callable[[Callable[[], None]], None]:
    """Runs a page's function under its title; bad input becomes a message. A fresh server's first page runs the main file."""

    def run(draw: Callable[[], None]) -> None:
        if "store" not in OFFERED:
            runpy.run_path(str(Path(__file__).with_name("main.py")))
            return
        st.title(title)
        if name := st.session_state.get("store"):  # for telephones, which hide the list of stores
            st.container(key="which").caption(escape(name))
        try:
            draw()
        except tp.InputError as error:
            st.warning("This cannot be shown.")
            st.text(str(error))

    return run


def plugged(plugin: Any) -> Callable[[], None]:
    """The page of a plug-in, which is imported when it is opened and draws a chosen store."""
    return lambda: page(plugin.title or plugin.name.capitalize())(lambda: plugin.load()(store()))


def mark(*place: Any) -> Any:
    """The marked tokens, of the address or another page; clusters and areas only of the ``place`` (its method last) of their mark."""
    text = st.query_params.get("mark", st.session_state.get("kept_mark", ""))
    try:
        value = tp.dashboard.marks.read_mark(text)
    except tp.InputError:
        value = None
    if place:
        place_marked = (text, *place[: len(place) - text.startswith("cluster")])
        before = st.session_state.get("marked_at", place_marked)
        if text.startswith(("cluster", "lasso")) and before[0] == text and before != place_marked:
            value, place_marked = None, ("",)
        st.session_state["marked_at"] = place_marked
    set_mark(value)
    return value


def set_mark(value: Any) -> None:
    set_address("mark", str(value or ""))


def set_address(name: str, text: str) -> None:
    """Writes into the address, and keeps for other pages."""
    st.session_state[f"kept_{name}"] = text
    if not text:
        st.query_params.pop(name, None)
    elif text != st.query_params.get(name):
        st.query_params[name] = text


def escape(text: str) -> str:
    """The text for Markdown: nothing in it works, nor do addresses become links."""
    signs = ADDRESS.sub("\u2060", text)
    return "".join(f"\\{sign}" if sign in SPECIAL else sign for sign in signs)
