"""Widgets of every page: the first line, statements with links, views with exports, analyses that are run here."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import state
import streamlit as st
from streamlit.components.v2 import component

import tprprobe as tp

FOLDER = Path(__file__).parent
# The hyphen of a measured number; texts that are quoted keep theirs.
HYPHEN = re.compile(r"(?<=[\s\[])-(?=\d+\.\d)")
COMMAND = 640  # pixels
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["toImage", "autoScale2d"]}
STYLE = FOLDER.joinpath("page.css").read_text("utf-8")
LISTEN = component("tprprobe_page", js=FOLDER.joinpath("page.js").read_text("utf-8"))
UNCLAIMED = "Not shown, because they do not record their store (an earlier version made them; make them again): "
REPLACED = "The store’s labels of {} are not those that {} was made with: make it again."
AXES = "In every map, down: tokens that attend; across: tokens that they attend to."
CHOICES = {"names": "names", "decomposition": "decomposed"}  # that choose among results
REFUSED = "Analyses that are impossible for this store, and why"


def surround() -> None:
    """The looks of every page, and what its script does."""
    dark = state.is_dark()
    style = STYLE.replace("LINK", "#56B4E9" if dark else "#0072B2")
    st.html(f"<style>{style.replace('PAGE', tp.figures.theme.find_theme(dark).page)}</style>")
    LISTEN(key="listen")


def write_minus(text: str) -> str:
    return HYPHEN.sub("−", text)


def lead(statement) -> None:
    """The first line of a page: what it answers; what it names is a click away."""
    text = str(statement)
    with st.container(key=f"lead-{abs(hash(text))}"):
        st.markdown(state.escape(write_minus(text)))
    if links := getattr(statement, "links", ()):
        with st.container(horizontal=True):
            show_links(links)


def show_links(links) -> None:
    for link in links:
        query = {"store": st.session_state.get("store") or "", **link.query, "link": "1"}
        st.page_link(f"pages/{link.page}.py", label=state.escape(link.label), query_params=query)


def link_examined(store: Any, *pictures: str) -> None:
    """Links to what `tprprobe examine` says of a page's question, which stands on Overview."""
    questions = tp.dashboard.contents.read_examination(store)
    headings = [asked.heading for asked, path in questions if path and path.stem in pictures]
    link = tp.dashboard.statements.Link
    with st.container(horizontal=True):
        show_links(link(f"Overview: {heading}", "overview") for heading in headings)


def write(statement) -> None:
    """A statement, brief where it can be, and links to pages that show it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(state.escape(write_minus(statement.brief or statement.text)), width="content")
        show_links(statement.links)


def fold(label: str, key: str, draw: Callable[[], object], opened: bool = False) -> None:
    """A part that is folded at first: it is made when it is opened, since Streamlit sends what is in closed ones, too."""
    expander = st.expander(label, opened, key=f"fold-{key}", on_change="rerun")
    if expander.open:
        with expander:
            draw()


def controls():
    return st.container(key="controls", horizontal=True, vertical_alignment="bottom")


def choose(label: str, options, key: str, index: int = 0, **look) -> Any:
    """A choice that the address keeps; a list of long names is wide."""
    width = 120 if isinstance(options, range) else "stretch"
    if (result := st.session_state.pop(f"next_{key}", None)) in options:
        st.session_state[key] = result
    return st.selectbox(label, options, index, key=key, **({"width": width} | look), **state.KEEP)


def choose_site(label: str, sites: list[str], key: str, index: int = 0) -> str:
    """A choice of a site, as people say it."""
    names = {tp.figures.labels.site_label(site): site for site in sites}
    return names[choose(label, list(names), key, index)]


def choose_count() -> int:
    """The number of clusters, at first that of the results beside the store."""
    name, count_clusters = state.store_name(), state.runs().count_clusters
    count = state.once(lambda: count_clusters(state.store()), "count")
    is_new = "k" not in {*st.query_params, *st.session_state}
    if is_new:
        st.query_params["k"] = str(count)  # in every link, whatever the default becomes
    if is_new or st.session_state.get("k_of", name) != name:
        st.session_state["k"] = count
    st.session_state["k_of"] = name
    value = st.number_input("Clusters", 2, 60, None, key="k", width=130, **state.KEEP)
    return int(value or count)


def show(view: Any, name: str) -> list[int]:
    """A view as a chart, with its export; the rows of its table behind the points that are chosen."""
    with st.container(key=f"view-{name}"):  # stays whole on paper
        head(view.title, lambda: view, name)
        look: dict[str, Any] = {"config": CONFIG, "theme": None, "alt": view.title, "key": name}
        event: Any = st.plotly_chart(view.chart(state.is_dark()), on_select="rerun", **look)
        if view.note:
            st.caption(state.escape(view.note))
    data = [point.get("customdata") for point in event.selection.points]
    return [int(row[0]) for row in data if isinstance(row, (list, tuple))]


def head(title: str, make: Callable[[], Any], name: str) -> None:
    """A view's title, and the pop-up beside it that holds its exports: they are made when they are asked for."""
    places = {"horizontal_alignment": "distribute", "vertical_alignment": "center", "wrap": False}
    with st.container(horizontal=True, **places):
        st.markdown(f"**{state.escape(title)}**")
        with st.popover("Export"):
            for kind, mime in tp.dashboard.view.FORMATS.items():
                look: dict[str, Any] = {"on_click": "ignore", "width": "stretch"}
                data = lambda kind=kind: make().export(kind)  # noqa: E731
                file, key = f"{name}.{kind}", f"{name}-{kind}"
                st.download_button(kind.upper(), data, file, mime, key=key, **look)


def choose_samples(store: Any, candidates: Sequence[int], n: int = 1) -> list[int]:
    """The chosen one of some samples, of those that hold a text, and the next up to ``n``; ← and → step through them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look: dict[str, Any] = {"width": 220, "max_chars": 200} | state.KEEP
        text = st.text_input("Text search", key="search", **look) or ""
        matches = tp.dashboard.contents.find_samples(store, text) if text else candidates
        where = state.where(tp.dashboard.slices.find_side(store))
        in_slice = tp.dashboard.slices.list_samples(store, where) if where else matches
        matches = sorted({*matches} & {*in_slice} & {*candidates}) if text or where else []
        wanted = state.escape(" and ".join(f"‘{word}’" for word in (text, where) if word))
        if wanted and not matches:
            st.caption(f"No sample here has {wanted}: all are shown.")
        samples = matches or candidates
        before = st.session_state.get("sample", 0)
        index = samples.index(before) if before in samples else 0

        def step(n: int) -> None:
            st.session_state["sample"] = int(samples[min(max(index + n, 0), len(samples) - 1)])

        step(0)
        st.number_input("Sample", 0, candidates[-1], key="sample", width=160, **state.KEEP)
        st.button("Previous", on_click=step, args=(-1,), shortcut="Left", key="previous")
        st.button("Next", on_click=step, args=(1,), shortcut="Right", key="next")
        condition = f" with {wanted}" if matches else ""
        st.caption(f"{index + 1:,} of {len(samples):,}{condition}")
    return [*map(int, samples[index : index + n])]


def table(rows, pinned: int = 1, digits: str = "%.3g", **look):
    """A table whose first columns stay and whose numbers have three digits; headings tell what columns mean."""
    columns = {}
    for number, (name, kind) in enumerate(rows.dtypes.items()):
        meaning = tp.dashboard.glossary.explain_column(str(name))
        column: Any = st.column_config.Column
        if kind.kind == "f":
            column = partial(st.column_config.NumberColumn, format=digits)
        heading = f"**{state.escape(str(name))}** {meaning}"
        columns[name] = column(help=heading, pinned=number < pinned)
    return st.dataframe(rows, hide_index=True, column_config=columns, **look)


def list_unclaimed(*kinds: str) -> None:
    """One line about results that do not say of which store they are, and so are not shown."""
    store = state.find_store()
    if unclaimed := store and state.runs().sort(store, *kinds)[2]:
        st.caption(UNCLAIMED + ", ".join(map(state.escape, unclaimed)))


def list_replaced() -> None:
    """A line for every run of probes whose labels, of one's own, were replaced since."""
    store = state.find_store()
    for name, folder in state.runs().beside(store, "probes").items() if store else ():
        if labels := tp.dashboard.probes.find_replaced(store, folder):
            st.caption(state.escape(REPLACED.format(", ".join(labels), name)))


@st.cache_resource
def jobs():
    return {}


def offer_runs(*kinds: str, why: str = "", heading: str = "") -> None:
    """A button for every analysis that is missing: it runs here, beside the store; below, why others are impossible."""
    if why:
        st.info(why)
    views, above, refused = tp.dashboard.launches, st.container(), {}
    for kind in kinds:
        key = (state.root(), state.store_name(), kind)
        job = jobs().get(key)
        try:
            launch = job.launch if job else views.plan(state.runs(), state.store(), kind)
        except tp.InputError as error:
            refused[views.LAUNCHES[kind][0]] = str(error)
            continue
        _offer_run(key, launch, job)
    if heading and len(refused) < len(kinds):
        above.subheader(heading)
    if refused:  # an empty page has room for the reasons
        is_all = bool(why) and len(refused) == len(kinds)
        with st.expander(REFUSED, is_all, key=f"refused-{'-'.join(kinds)}"):
            for title, reason in refused.items():
                st.markdown(f"**{state.escape(title)}**: {state.escape(reason)}")


def _offer_run(key, launch, job) -> None:
    def begin() -> None:
        jobs()[key] = tp.dashboard.launches.start(launch)

    with st.container(horizontal=True, key=f"run-{key[-1]}"):
        look = {"disabled": job is not None, "type": "primary", "on_click": begin}
        st.button(launch.title, f"start-{key[-1]}", **look)
        with st.popover("Command"):
            st.code(launch.command, language="bash", wrap_lines=True, width=COMMAND)
    if job:
        _watch(key)


@st.fragment(run_every=1.0)
def _watch(key) -> None:
    """The output of a job; when it is done, the page is drawn again with its result."""
    job = jobs().get(key)
    if job is None:
        return
    outcome = job.outcome
    label = {None: "It runs …", 0: "Done", -2: "Stopped"}.get(outcome, f"It ended with {outcome}")
    status: Any = {None: "running", 0: "complete"}.get(outcome, "error")
    box = st.status(label, state=status, expanded=True)  # as ``with`` it would end as complete
    box.code(job.read_output() or "…", language=None, wrap_lines=True)
    if status == "running":
        st.button("Stop", on_click=job.stop, key=f"stop-{key[-1]}")
    elif status == "complete":
        jobs().pop(key)
        state.forget()
        state.show_result(job.launch.out, CHOICES.get(key[-1], "intervention"))
        st.rerun(scope="app")
    else:
        st.button("Close", on_click=jobs().pop, args=(key,), key=f"close-{key[-1]}")
