"""What can be asked of a store's model: a question that it answers, and edits of it; or a text, and what is expected next."""

from typing import Any

import linked
import parts
import state
import streamlit as st

import tprprobe as tp

EXCHANGE, ABLATE = (
    "Exchange two tokens",
    "Ablate a head",
)  # what clicks on tokens, and on a head, mean
STAYS = """<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) {
  position: sticky; top: 0; z-index: 9; padding: 0.6rem 0; background: PAGE; box-shadow: 0.9rem 0 PAGE, -0.9rem 0 PAGE;
}
.st-key-asked-lead { max-height: 38vh; overflow-y: auto; }
@media (max-width: 768px) { [data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) { top: 3.6rem; } }
</style>"""


def stay() -> Any:
    """A place for the answer, which stays in sight while what is below is clicked."""
    st.html(STAYS.replace("PAGE", tp.dashboard.theme.look(state.is_dark()).page))
    return st.container(key="asked-lead")


def read_input(store, label: str, first: str = "") -> str:
    """The text that is asked; another store begins with a text of its own."""
    before = st.session_state.get("asked_of", state.store_name())
    st.session_state["asked_of"] = state.store_name()
    own = first or tp.dashboard.choices.first_text(store)
    if before != state.store_name():
        st.session_state["text"] = own
    is_known = "text" in st.session_state or "text" in st.query_params
    return st.text_area(
        label, "" if is_known else own, max_chars=4000, key="text", height=95, **state.KEEP
    )


def keep_for(*asked: str) -> None:
    """Keeps what is picked as long as it is for the same text."""
    before = st.session_state.get("picked_for")
    if before is not None and before != asked:
        linked.pick()
    st.session_state["picked_for"] = asked
    if text := linked.read_picks():
        linked.pick(text, st.session_state.get("turn_of_picks", 0))


def ask_next(model, name: str, store, lead) -> None:
    """A text, two words of it, a site: what is expected next (or which samples are near) beside controls."""
    views = tp.dashboard.next_words
    asked = views.read_text(model, read_input(store, "Text"))
    keep_for(asked.text)
    sites = views.list_states(model)
    if not sites:
        raise tp.InputError(f"{name} has no site of states that words can exchange")
    with parts.controls():
        site = parts.choose("Exchange the states at", sites, "states", len(sites) // 2)
    picked = linked.read_tokens(len(asked.tokens))
    marked = (
        [i for word in views.find_words(asked, *picked) for i in word] if len(picked) == 2 else None
    )
    advice = (
        "Click another word for another pair."
        if marked
        else f"Click {'a second word' if picked else 'two words'}: they exchange their states."
    )
    strips = [
        {"heading": "What the model reads"} | tp.dashboard.browser_payload.pack_tokens(asked.tokens)
    ]
    linked.offer_picks("tokens", {"strips": strips, "marked": marked, "many": 2, "advice": advice})
    if marked is None:
        return
    found = state.once(
        lambda: views.exchange_states(asked, site, *picked),
        "exchange",
        name,
        asked.text,
        site,
        *picked,
    )
    if views.has_head(model):
        table = views.tabulate_words(asked, found)
    else:
        means, texts = state.once(
            lambda: views.mean_states(store, sites[-1]), "means", *state.key(sites[-1])
        )
        table = views.tabulate_neighbours(found, means, texts)
    with lead:
        parts.lead(views.tell_exchange(asked, site, *picked, table=table))
    parts.table(table, 1 if views.has_head(model) else 2)
    st.caption(state.escape(" · ".join(f"{way}: {told}" for way, told in views.TOLD.items())))


def ask_answer(model, name: str, store, lead) -> None:
    """A question, text or image: the answer, and what becomes of it if tokens exchange vectors or a head binds nothing."""
    dialogue, changes = tp.dashboard.live_example, tp.dashboard.example_edits
    if dialogue.reads_images(model):
        number = st.number_input("Image", 0, 9999, key="image", **state.KEEP)
        posed = state.once(lambda: dialogue.pose_image(model, number), "posed", name, number)
    else:
        text = read_input(store, "Question or text")
        posed = state.once(lambda: dialogue.pose(model, text), "posed", name, text)
    keep_for(posed.text)
    kept = state.once(lambda: dialogue.keep(posed), "kept", name, posed.text)
    heads, kinds = changes.list_heads(posed), list(changes.list_kinds(posed))
    with parts.controls():
        kind = (
            parts.choose("Tokens exchange their", kinds, "parts" if posed.is_image else "kind")
            if kinds
            else None
        )
    change, tokens = None, linked.read_tokens(len(posed.tokens))
    if head := linked.read_head(heads):
        change = changes.ablate_head(*head)
    elif kind and len(tokens) == 2:
        change = changes.exchange_tokens(posed, kind, *tokens)
    _show_tokens(posed, kind, tokens, change)
    with lead:
        answer = state.once(
            lambda: _tell(posed, name, store), "answer", name, posed.text, *state.key()
        )
        if change is None:
            parts.lead(answer)
        else:
            parts.lead(tp.dashboard.experiments.tell_experiment(_try(name, posed, change)))
            st.caption(state.escape(f"Without the edit: {answer}"))
    _show_heads(posed, kept, heads)
    _show_experiments()


def _tell(posed, name: str, store) -> str:
    dialogue = tp.dashboard.live_example
    reference = "" if posed.is_image else dialogue.find_reference(store, posed.text)
    return dialogue.tell_answer(posed, posed.model.name, dialogue.exact_answer(posed), reference)


def _show_tokens(posed, kind, tokens, change) -> None:
    advice = (
        "Click two tokens: they exchange their " + f"{kind}."
        if kind
        else f"{posed.model.name} has no roles or fillers to exchange."
    )
    marked = None if change is None else [*change.first, *change.second]
    strips = [
        {"heading": "The caption" if posed.is_image else "What was asked"}
        | tp.dashboard.browser_payload.pack_tokens(posed.tokens)
    ]
    linked.offer_picks(
        "tokens", {"strips": strips, "marked": marked or None, "many": 2, "advice": advice}
    )
    if kind and (pairs := tp.dashboard.example_edits.list_pairs(posed)):
        with st.container(horizontal=True, vertical_alignment="center", key="pairs"):
            st.caption("Or click a pair:", width="content")
            for number, (told, *pair) in enumerate(pairs):
                st.button(
                    state.escape(told),
                    f"pair-{number}",
                    on_click=linked.pick,
                    args=(",".join(map(str, pair)),),
                )


def _show_heads(posed, kept, heads) -> None:
    """Small maps of all heads; a click ablates one."""
    maps = tp.dashboard.choices.list_maps(kept.store)
    of_layer = {name.rpartition(".")[0]: name for name in heads}
    sites = {each: of_layer[at] for each in maps if (at := each.rpartition(".")[0]) in of_layer}
    if not sites:
        st.caption(state.escape(tp.dashboard.example_edits.tell_headless(posed)))
        return
    st.markdown(
        "**Attention of every head** – click a map to ablate its head: its vectors become 0, so that it binds nothing"
    )
    pack = tp.dashboard.browser_payload.pack_heads
    sent = state.once(
        lambda: pack(kept.store, sites, 0, state.is_dark()),
        "maps",
        str(kept.store.path),
        state.is_dark(),
    )
    linked.offer_picks("heads", sent | {"advice": "HEAD becomes 0 (click again: as it was)"})


def _try(name: str, posed, change) -> dict:
    """The row of a change, the newest. What was tried already is not tried again."""
    rows, key = st.session_state.setdefault("experiments", {}), (name, posed.text, change.told)
    rows[key] = rows.pop(key, None) or tp.dashboard.experiments.try_change(posed, change)
    return rows[key]


def _show_experiments() -> None:
    """The table of everything that was tried in this tab of the browser."""
    rows = st.session_state.get("experiments", {})
    if not rows:
        return
    table = tp.dashboard.experiments.tabulate([*rows.values()])
    st.subheader("Experiments")
    parts.table(table)

    def clear() -> None:
        rows.clear()
        linked.pick()

    with st.container(horizontal=True):
        st.download_button(
            "CSV", table.to_csv(index=False), "experiments.csv", "text/csv", on_click="ignore"
        )
        st.button("Clear the table", on_click=clear)
