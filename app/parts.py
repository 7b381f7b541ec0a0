"""Parts that pages are made of: the first line, statements with links, views with exports, analyses that are run here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import state
import streamlit as st
from streamlit.components.v2 import component

import tprprobe as tp

HERE = Path(__file__).parent
EDGES, CHARACTER = 28, 9  # pixels of a box of code, beside its text and of each character
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["toImage", "autoScale2d"]}
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
    (HERE / "page.css")
    .read_text("utf-8")
    .replace("LONG", ", ".join(f".st-key-{each}" for each in LONG))
)
LISTEN = component("tprprobe_page", js=(HERE / "page.js").read_text("utf-8"))
KEYS = {
    "← →": "step through the samples",
    "Esc": "unmark",
    "Tab": "reach everything else",
    "Ctrl P": "print the page",
    "?": "show this list",
}


def surround() -> None:
    """The looks of every page, and the keys behind `?`."""
    st.html(f"<style>{STYLE.replace('LINK', '#56B4E9' if state.is_dark() else '#0072B2')}</style>")
    with st.sidebar.container(key="keys"):
        st.button("Keys ( ? )", on_click=_tell_keys, key="show-keys")
    LISTEN(key="listen")


@st.dialog("Keys")
def _tell_keys() -> None:
    st.markdown("  \n".join(f"**{key}** – {does}" for key, does in KEYS.items()))


def lead(statement) -> None:
    """The first line of a page: what it answers; what it names is a click away."""
    text = str(statement)
    with st.container(key=f"lead-{abs(hash(text))}"):
        st.markdown(state.escape(text))
    if links := getattr(statement, "links", ()):
        with st.container(horizontal=True):
            show_links(links)


def show_links(links) -> None:
    for each in links:
        query = {"store": state.store_name(), **each.query, "link": "1"}
        st.page_link(f"pages/{each.page}.py", label=state.escape(each.told), query_params=query)


def tell(statement) -> None:
    """A statement with its examples, and links to the pages that show it."""
    st.markdown(state.escape(statement.text))
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"examples-{abs(hash(statement.text))}"
    ):
        for example in statement.examples:
            st.code(example, language=None, width=EDGES + CHARACTER * len(example))
        show_links(statement.links)


def controls():
    """The row of a page's choices."""
    return st.container(key="controls", horizontal=True, vertical_alignment="bottom")


def choose(label: str, options, key: str, first: int = 0, **given) -> Any:
    """A choice that the address keeps."""
    return st.selectbox(label, options, first, key=key, **given, **state.KEEP)


def show(view: Any, name: str) -> list[int]:
    """A view as a chart, with its export; the rows of its table behind the points that are chosen."""
    with st.container(key=f"view-{name}"):  # stays whole on paper
        titled(view.title, lambda: view, name)
        given: dict[str, Any] = {
            "config": CONFIG,
            "theme": None,
            "alt": view.title,
            "key": name,
            "on_select": "rerun",
        }
        event = st.plotly_chart(view.chart, **given)
        if view.note:
            st.caption(state.escape(view.note))
    return [
        int(point["customdata"][0])
        for point in event.selection.points
        if isinstance(point.get("customdata"), (list, tuple))
    ]


def titled(title: str, make: Callable[[], Any], name: str) -> None:
    """A view's title, and the pop-up beside it that holds its exports: they are made when they are asked for."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", wrap=False
    ):
        st.markdown(f"**{state.escape(title)}**")
        with st.popover("Export"):
            for kind, mime in tp.dashboard.view.FORMATS.items():
                given: dict[str, Any] = {
                    "key": f"{name}-{kind}",
                    "on_click": "ignore",
                    "width": "stretch",
                }
                st.download_button(
                    kind.upper(),
                    lambda kind=kind: make().export(kind),
                    f"{name}.{kind}",
                    mime,
                    **given,
                )


def choose_sample(store: Any, count: int, search: bool = True) -> int:
    """The chosen one of ``count`` samples, of those that hold a text; ← and → step through them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = (
            st.text_input("Text search", key="search", width=220, max_chars=200, **state.KEEP) or ""
            if search
            else ""
        )
        found = tp.dashboard.tables.find_samples(store, text) if text else range(count)
        found = [each for each in found if each < count] if text else found
        if not len(found):
            st.caption(f"No sample has ‘{state.escape(text)}’: all are shown.")
            found = range(count)
        last = max(len(found) - 1, 0)
        before = st.session_state.get("sample", 0)
        at = found.index(before) if before in found else 0

        def step(by: int) -> None:
            st.session_state["sample"] = int(found[min(max(at + by, 0), last)])

        st.session_state["sample"] = int(found[at])
        chosen = st.number_input(
            "Sample", 0, max(count - 1, 0), key="sample", width=160, **state.KEEP
        )
        st.button("Previous", on_click=step, args=(-1,), shortcut="Left", key="previous")
        st.button("Next", on_click=step, args=(1,), shortcut="Right", key="next")
        st.caption(
            f"{at + 1:,} of {len(found):,}" + (f" with ‘{state.escape(text)}’" if text else "")
        )
    return int(chosen)


def table(rows, pinned: int = 1, **given):
    """A table whose first columns stay, and whose numbers have three digits."""
    columns = {}
    for number, (name, kind) in enumerate(rows.dtypes.items()):
        shown: dict[str, Any] = {"pinned": number < pinned, "help": str(name)}
        if kind.kind == "f":
            columns[name] = st.column_config.NumberColumn(format="%.3g", **shown)
            continue
        is_name = number < pinned and kind.kind not in "iu"
        columns[name] = st.column_config.Column(width="medium" if is_name else None, **shown)
    return st.dataframe(rows, hide_index=True, column_config=columns, **given)


def tell_unclaimed(*kinds: str) -> None:
    """One line about results that do not say of which store they are, and so are not shown."""
    if unclaimed := state.runs().unclaimed(state.store(), *kinds):
        told = "Not shown, as they do not say of which store they are (made by an earlier version; make them again): "
        st.caption(told + ", ".join(map(state.escape, unclaimed)))


@st.cache_resource
def jobs():
    """The analyses that were started in this server, by store and kind."""
    return {}


def offer_runs(*kinds: str) -> None:
    """A button for every analysis that is missing: it runs here, beside the store; below, why others are impossible."""
    launches, refused = tp.dashboard.launches, []
    for kind in kinds:
        at = (state.root(), state.store_name(), kind)
        try:
            job = jobs().get(at)
            _offer_run(at, job.launch if job else launches.plan(state.runs(), at[1], kind), job)
        except tp.InputError as error:
            refused.append(f"{launches.LAUNCHES[kind][0]}: {error}.")
    if refused:
        with st.expander(
            "What cannot be asked of this store, and why", key=f"refused-{'-'.join(kinds)}"
        ):
            st.markdown("  \n".join(map(state.escape, refused)))


def _offer_run(at, launch, job) -> None:
    kind = at[-1]

    def begin() -> None:
        jobs()[at] = tp.dashboard.launches.start(launch)

    with st.container(border=True, key=f"run-{kind}"):
        st.button(
            f"{launch.told} here",
            f"start-{kind}",
            on_click=begin,
            disabled=job is not None,
            type="primary",
        )
        st.code(launch.command, language="bash", wrap_lines=True)
        if job:
            _watch(at)


@st.fragment(run_every=1.0)
def _watch(at) -> None:
    """The output of a job; when it is done, the page is drawn again with its result."""
    job = jobs().get(at)
    if job is None:
        return
    outcome = job.outcome
    told: Any = {None: ("It runs …", "running"), 0: ("Done", "complete")}.get(
        outcome, (f"It ended with {outcome}", "error")
    )
    with st.status(told[0], state=told[1], expanded=True):
        st.code(job.tell() or "…", language=None)
    if outcome is None:
        st.button("Stop", on_click=job.stop, key=f"stop-{at[-1]}")
    elif outcome == 0:
        jobs().pop(at)
        state.forget()
        st.rerun(scope="app")
    else:
        st.button("Close", on_click=jobs().pop, args=(at,), key=f"close-{at[-1]}")
