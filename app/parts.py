"""Parts that pages are made of: the first line, statements with links, analyses that are run here, tables."""

from typing import Any

import state
import streamlit as st

import tprprobe as tp

EDGES, CHARACTER = 28, 9  # pixels of a box of code, beside its text and of each character


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
        label = state.escape(each.told)
        st.page_link(f"pages/{each.page}.py", label=label, query_params=query)


def controls():
    """The row of a page's choices."""
    return st.container(key="controls", horizontal=True, vertical_alignment="bottom")


def tell(statement) -> None:
    """A statement with its examples, and links to the pages that show it."""
    st.markdown(state.escape(statement.text))
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"examples-{abs(hash(statement.text))}"
    ):
        for example in statement.examples:
            st.code(example, language=None, width=EDGES + CHARACTER * len(example))
        show_links(statement.links)


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


@st.cache_resource
def jobs():
    """The analyses that were started in this server, by store and kind."""
    return {}


def offer_runs(*kinds: str) -> None:
    """A button for every analysis that is missing: it runs here, beside the store."""
    for kind in kinds:
        _offer_run(kind)


def _offer_run(kind: str) -> None:
    at, launches = (state.root(), state.store_name(), kind), tp.dashboard.launches
    job = jobs().get(at)
    try:
        launch = job.launch if job else launches.plan(state.runs(), state.store_name(), kind)
    except tp.InputError as error:
        st.caption(state.escape(f"{launches.LAUNCHES[kind][0]}: not of this store – {error}."))
        return

    def begin() -> None:
        jobs()[at] = launches.start(launch)

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
    if outcome is None:
        status = st.status("It runs …", state="running", expanded=True)
    elif outcome == 0:
        status = st.status("Done", state="complete", expanded=True)
    else:
        status = st.status(f"It ended with {outcome}", state="error", expanded=True)
    with status:
        st.code(job.tell() or "…", language=None)
    if outcome is None:
        st.button("Stop", on_click=job.stop, key=f"stop-{at[-1]}")
    elif outcome == 0:
        jobs().pop(at)
        forget()
        st.rerun(scope="app")
    else:
        st.button("Close", on_click=jobs().pop, args=(at,), key=f"close-{at[-1]}")


def forget() -> None:
    """Looks for results anew."""
    for each in (state.find_runs, state.read_probes, state.summarize):
        each.clear()
