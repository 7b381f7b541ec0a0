"""Widgets of every page: the first line, statements with links, views with exports, analyses that are run here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import state
import streamlit as st
from streamlit.components.v2 import component

import tprprobe as tp

HERE = Path(__file__).parent
EDGES, CHARACTER = 28, 9  # pixels of a box of code, beside its text and of each character
COMMAND = 640  # pixels
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["toImage", "autoScale2d"]}
STYLE = HERE.joinpath("page.css").read_text("utf-8")
LISTEN = component("tprprobe_page", js=HERE.joinpath("page.js").read_text("utf-8"))
UNCLAIMED = "Not shown, because they do not record their store (an earlier version made them; make them again): "
REFUSED = "Analyses that are impossible for this store, and why"
KEYS = {
    "← →": "step through the samples",
    "Esc": "unmark",
    "Tab": "reach everything else",
    "Ctrl P": "print the page",
    "?": "show this list",
}


def surround() -> None:
    """The looks of every page, and the keys behind `?`."""
    dark = state.is_dark()
    style = STYLE.replace("LINK", "#56B4E9" if dark else "#0072B2")
    st.html(f"<style>{style.replace('PAGE', tp.dashboard.theme.look(dark).page)}</style>")
    with st.sidebar.container(key="keys"), st.popover("Keys ( ? )"):
        st.markdown("  \n".join(f"**{key}** – {does}" for key, does in KEYS.items()))
    LISTEN(key="listen")


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


def write(statement) -> None:
    """A statement, brief where it can be, with its examples, and links to pages that show it."""
    key = f"examples-{abs(hash(statement.text))}"
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(state.escape(statement.brief or statement.text), width="content")
        for example in statement.examples:
            st.code(example, language=None, width=EDGES + CHARACTER * len(example))
        show_links(statement.links)


def fold(label: str, key: str, draw: Callable[[], object], opened: bool = False) -> None:
    """A part that is folded at first: it is made when it is opened, since Streamlit sends what is in closed ones, too."""
    part = st.expander(label, opened, key=f"fold-{key}", on_change="rerun")
    if part.open:
        with part:
            draw()


def controls():
    """The row of a page's choices."""
    return st.container(key="controls", horizontal=True, vertical_alignment="bottom")


def choose(label: str, options, key: str, first: int = 0, **given) -> Any:
    """A choice that the address keeps; a list of long names is wide."""
    width = 120 if isinstance(options, range) else "stretch"
    return st.selectbox(label, options, first, key=key, **({"width": width} | given), **state.KEEP)


def choose_count() -> int:
    """The number of clusters."""
    return int(st.number_input("Clusters", 2, 60, 20, key="k", width=130, **state.KEEP))


def show(view: Any, name: str) -> list[int]:
    """A view as a chart, with its export; the rows of its table behind the points that are chosen."""
    with st.container(key=f"view-{name}"):  # stays whole on paper
        head(view.title, lambda: view, name)
        given: dict[str, Any] = {"config": CONFIG, "theme": None, "alt": view.title, "key": name}
        event: Any = st.plotly_chart(view.chart(state.is_dark()), on_select="rerun", **given)
        if view.note:
            st.caption(state.escape(view.note))
    chosen = [point.get("customdata") for point in event.selection.points]
    return [int(each[0]) for each in chosen if isinstance(each, (list, tuple))]


def head(title: str, make: Callable[[], Any], name: str) -> None:
    """A view's title, and the pop-up beside it that holds its exports: they are made when they are asked for."""
    places = {"horizontal_alignment": "distribute", "vertical_alignment": "center", "wrap": False}
    with st.container(horizontal=True, **places):
        st.markdown(f"**{state.escape(title)}**")
        with st.popover("Export"):
            for kind, mime in tp.dashboard.view.FORMATS.items():
                given: dict[str, Any] = {"on_click": "ignore", "width": "stretch"}
                given["key"] = f"{name}-{kind}"
                data = lambda kind=kind: make().export(kind)  # noqa: E731
                st.download_button(kind.upper(), data, f"{name}.{kind}", mime, **given)


def choose_sample(store: Any, count: int, search: bool = True) -> int:
    """The chosen one of ``count`` samples, of those that hold a text; ← and → step through them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        given: dict[str, Any] = {"width": 220, "max_chars": 200} | state.KEEP
        text = (search and st.text_input("Text search", key="search", **given)) or ""
        samples = tp.dashboard.contents.find_samples(store, text) if text else []
        found = [each for each in samples if each < count]
        if text and not found:
            st.caption(f"No sample has ‘{state.escape(text)}’: all are shown.")
        chosen = found or range(count)
        before = st.session_state.get("sample", 0)
        at = chosen.index(before) if before in chosen else 0

        def step(by: int) -> None:
            st.session_state["sample"] = int(chosen[min(max(at + by, 0), len(chosen) - 1)])

        step(0)
        sample = st.number_input("Sample", 0, count - 1, key="sample", width=160, **state.KEEP)
        st.button("Previous", on_click=step, args=(-1,), shortcut="Left", key="previous")
        st.button("Next", on_click=step, args=(1,), shortcut="Right", key="next")
        which = f" with ‘{state.escape(text)}’" if found else ""
        st.caption(f"{at + 1:,} of {len(chosen):,}{which}")
    return int(sample)


def table(rows, pinned: int = 1, **given):
    """A table whose first columns stay and whose numbers have three digits; headings tell what columns mean."""
    columns = {}
    for number, (name, kind) in enumerate(rows.dtypes.items()):
        meaning = tp.dashboard.glossary.explain_column(str(name))
        shown: dict[str, Any] = {"help": f"**{state.escape(str(name))}** {meaning}"}
        if kind.kind == "f":
            columns[name] = st.column_config.NumberColumn(format="%.3g", **shown)
        else:
            is_name = number < pinned and kind.kind not in "iu"
            columns[name] = st.column_config.Column(width="medium" if is_name else None, **shown)
        columns[name]["pinned"] = number < pinned
    return st.dataframe(rows, hide_index=True, column_config=columns, **given)


def list_unclaimed(*kinds: str) -> None:
    """One line about results that do not say of which store they are, and so are not shown."""
    if unclaimed := state.runs().unclaimed(state.store(), *kinds):
        st.caption(UNCLAIMED + ", ".join(map(state.escape, unclaimed)))


@st.cache_resource
def jobs():
    """The analyses that were started in this server, by store and kind."""
    return {}


def offer_runs(*kinds: str, why: str = "", heading: str = "") -> None:
    """A button for every analysis that is missing: it runs here, beside the store; below, why others are impossible."""
    if why:
        st.info(why)
    above, refused = st.container(), {}
    for kind in kinds:
        at = (state.root(), state.store_name(), kind)
        job = jobs().get(at)
        try:
            launch = (
                job.launch if job else tp.dashboard.launches.plan(state.runs(), state.store(), kind)
            )
        except tp.InputError as error:
            refused[tp.dashboard.launches.LAUNCHES[kind][0]] = str(error)
            continue
        _offer_run(at, launch, job)
    if heading and len(refused) < len(kinds):
        above.subheader(heading)
    if refused:  # an empty page has room for the reasons
        is_all = bool(why) and len(refused) == len(kinds)
        with st.expander(REFUSED, is_all, key=f"refused-{'-'.join(kinds)}"):
            for what, reason in refused.items():
                st.markdown(f"**{state.escape(what)}**: {state.escape(reason)}")


def _offer_run(at, launch, job) -> None:
    def begin() -> None:
        jobs()[at] = tp.dashboard.launches.start(launch)

    with st.container(horizontal=True, key=f"run-{at[-1]}"):
        given = {"disabled": job is not None, "type": "primary", "on_click": begin}
        st.button(f"{launch.told} here", f"start-{at[-1]}", **given)
        with st.popover("Command"):
            st.code(launch.command, language="bash", wrap_lines=True, width=COMMAND)
    if job:
        _watch(at)


@st.fragment(run_every=1.0)
def _watch(at) -> None:
    """The output of a job; when it is done, the page is drawn again with its result."""
    job = jobs().get(at)
    if job is None:
        return
    failed = (f"It ended with {job.outcome}", "error")
    told: Any = {None: ("It runs …", "running"), 0: ("Done", "complete")}.get(job.outcome, failed)
    with st.status(told[0], state=told[1], expanded=True):
        st.code(job.read_output() or "…", language=None)
    if told[1] == "running":
        st.button("Stop", on_click=job.stop, key=f"stop-{at[-1]}")
    elif told[1] == "complete":
        jobs().pop(at)
        state.forget()
        st.rerun(scope="app")
    else:
        st.button("Close", on_click=jobs().pop, args=(at,), key=f"close-{at[-1]}")
