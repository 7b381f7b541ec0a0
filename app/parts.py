"""Parts that pages are made of: the first line, statements with links, analyses that are run here, tables, the guide."""

import state
import streamlit as st

import tprprobe as tp

STYLE = """<style>
[class*="st-key-lead"] p { font-size: 1.15rem; line-height: 1.5; max-width: 75rem; }
[class*="st-key-lead"] { border-left: 4px solid #0072B2; padding-left: 0.9rem; }
[data-testid="stPageLink"] p { color: LINK; text-decoration: underline; }
[class*="st-key-controls"] .stSelectbox { min-width: 11.5rem; }
.stMainBlockContainer { padding-top: 3.2rem; padding-bottom: 3rem; }
@media (max-width: 700px) {
  .stMainBlockContainer { padding-left: 0.9rem; padding-right: 0.9rem; }
  [class*="st-key-controls"] > div { min-width: 46%; }
  h1 { font-size: 1.7rem !important; }
}
@media print {
  [data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"], .stButton, .stDownloadButton,
  [data-testid="stPopover"], [class*="st-key-guide"], .modebar { display: none !important; }
  .stMain, .stMainBlockContainer { overflow: visible !important; padding: 0 !important; }
  .js-plotly-plot, [data-testid="stExpander"] { break-inside: avoid; }
}
</style>"""
EDGES, CHARACTER = 48, 9  # pixels of a box of code, beside its text and of each character
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
PRESSED = st.components.v2.component(
    "tprprobe_question_mark",
    js="""export default function () {
  const press = (event) => {
    const at = document.activeElement
    if (event.key !== '?' || /^(INPUT|TEXTAREA|SELECT)$/.test(at?.tagName) || at?.isContentEditable) return
    document.querySelector('[class*="st-key-show-keys"] button')?.click()
  }
  document.addEventListener('keydown', press)
  return () => document.removeEventListener('keydown', press)
}""",
)
LINKED = {"overview", "roles", "attention", "probes", "reconstruction", "interventions"}


def lead(text: str) -> None:
    """The first line of a page: what it answers."""
    with st.container(key=f"lead-{abs(hash(text))}"):
        st.markdown(state.escape(text))


def controls():
    """The row of a page's choices."""
    return st.container(key="controls", horizontal=True, vertical_alignment="bottom")


def tell(statement) -> None:
    """A statement with its examples, and a link to the page that shows it."""
    st.markdown(state.escape(statement.text))
    with st.container(horizontal=True, vertical_alignment="center"):
        for example in statement.examples:
            st.code(example, language=None, width=EDGES + CHARACTER * len(example))
        if statement.page in LINKED:
            query = {"store": state.store_name(), **statement.query}
            st.page_link(
                f"pages/{statement.page}.py",
                label=f"Show on {statement.page.capitalize()}",
                query_params=query,
            )


def claims(rows) -> None:
    """The verdicts on claims, counted and listed, with links to the pages that show them."""
    counts = rows["verdict"].value_counts()
    st.markdown(" · ".join(f"{verdict}: **{count}**" for verdict, count in counts.items()))
    with st.container(horizontal=True):
        for page in rows["page"].unique():
            st.page_link(
                f"pages/{page}.py",
                label=f"Show on {page.capitalize()}",
                query_params={"store": state.store_name()},
            )
    with st.expander("Every claim with its numbers"):
        table(rows, 2)


def table(rows, pinned: int = 1, **given):
    """A table whose first columns stay, and whose numbers have three digits."""
    columns = {}
    for number, (name, kind) in enumerate(rows.dtypes.items()):
        form = {"format": "%.3g"} if kind.kind == "f" else {}
        make = st.column_config.NumberColumn if kind.kind == "f" else st.column_config.Column
        columns[name] = make(pinned=number < pinned, help=str(name), **form)
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
    at, launches = (state.root(), state.store_name(), kind), tp.views.launches
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
    told = {None: "running", 0: "complete"}.get(outcome, "error")
    label = {"running": "It runs …", "complete": "Done", "error": f"It ended with {outcome}"}[told]
    with st.status(label, state=told, expanded=True):
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


def guide() -> None:
    """The looks, the keys behind `?`, and the tour until it was seen or left."""
    st.html(STYLE.replace("LINK", "#56B4E9" if state.is_dark() else "#0072B2"))
    with st.sidebar.container(key="keys"):
        st.button("Keys and tour ( ? )", on_click=_tell_keys, key="show-keys")
    PRESSED(key="question-mark")
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
