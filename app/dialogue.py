"""What can be asked of a store's model: a question that it answers, and edits of it; or a text, and what is expected next."""

from typing import Any

import canvas
import state
import streamlit as st
import widgets

import tprprobe as tp

STAYS = """<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) {
  position: sticky; top: 0; z-index: 9; padding: 0.6rem 0; background: PAGE; box-shadow: 0.9rem 0 PAGE, -0.9rem 0 PAGE;
}
.st-key-asked-lead { max-height: 38vh; overflow-y: auto; }
@media (max-width: 768px) { [data-testid="stLayoutWrapper"]:has(> .st-key-asked-lead) { top: 3.6rem; } }
</style>"""
MAPS = "**Attention of every head** – click a map to ablate its head: its vectors become 0, so it binds nothing"


def stay() -> Any:
    """A place for the answer, which stays in sight while what is below is clicked."""
    st.html(STAYS.replace("PAGE", tp.dashboard.theme.look(state.is_dark()).page))
    return st.container(key="asked-lead")


def read_input(store, label: str) -> str:
    """The text that is asked; another store begins with a text of its own."""
    texts, name = tp.dashboard.contents.read_texts(store), state.store_name()
    first = str(texts.iloc[0]) if len(texts) else ""
    if st.session_state.get("asked_of", name) != name:
        st.session_state["text"] = first
    st.session_state["asked_of"] = name
    is_known = "text" in st.session_state or "text" in st.query_params
    shown = "" if is_known else first
    return st.text_area(label, shown, max_chars=4000, key="text", height=95, **state.KEEP)


def keep_for(*asked: str) -> None:
    """Keeps what is picked as long as it is for the same text."""
    before = st.session_state.get("picked_for", asked)
    st.session_state["picked_for"] = asked
    text = canvas.read_picks() if before == asked else ""
    if text or before != asked:
        canvas.pick(text, st.session_state.get("turn_of_picks", 0) + (before != asked))


def _show_tokens(heading: str, tokens, marked, advice: str) -> None:
    strip = {
        "heading": heading,
        "signs": [tp.dashboard.safe_text.sign(each) for each in tokens[:600]],
    }
    sent = {"strips": [strip], "marked": marked, "many": 2, "advice": advice}
    canvas.offer_picks("tokens", sent)


def ask_next(model, name: str, store, lead) -> None:
    """A text, two words of it, a site: what is expected next (or which samples are near) beside controls."""
    views = tp.dashboard.next_words
    asked = views.read_text(model, read_input(store, "Text"))
    keep_for(asked.text)
    sites = views.list_states(model)
    if not sites:
        raise tp.InputError(f"{name} has no site of states that words can exchange")
    with widgets.controls():
        site = widgets.choose("Exchange the states at", sites, "states", len(sites) // 2)
    picked = canvas.read_tokens(len(asked.tokens))
    marked, advice = (
        None,
        f"Click {'a second word' if picked else 'two words'}: they exchange their states.",
    )
    if len(picked) == 2:
        marked = [i for word in views.find_words(asked.words, *picked) for i in word]
        advice = "Click another word for another pair."
    _show_tokens("What the model reads", asked.tokens, marked, advice)
    if marked is None:
        return
    key = ("exchange", name, asked.text, site, *picked)
    found = state.once(lambda: views.exchange_states(asked, site, *picked), *key)
    if views.has_head(model):
        table = views.tabulate_words(asked, found)
    else:
        means = state.once(lambda: views.mean_states(store, sites[-1]), "means", sites[-1])
        table = views.tabulate_neighbors(found, *means)
    with lead:
        widgets.lead(views.summarize_exchange(asked, site, *picked, table=table))
    widgets.table(table, 1 if views.has_head(model) else 2)
    st.caption(state.escape(" · ".join(f"{way}: {told}" for way, told in views.TOLD.items())))


def ask_answer(model, name: str, store, lead) -> None:
    """A question, text or image: the answer, and what becomes of it if tokens exchange vectors or a head binds nothing."""
    views, changes = tp.dashboard.live_example, tp.dashboard.example_edits
    if isinstance(model, views.CaptionModel):
        number = st.number_input("Image", 0, 9999, key="image", **state.KEEP)
        posed = state.once(lambda: views.pose_image(model, number), "posed", name, number)
    else:
        text = read_input(store, "Question or text")
        posed = state.once(lambda: views.pose(model, text), "posed", name, text)
    keep_for(posed.text)
    heads, kinds = changes.list_heads(posed), list(changes.list_kinds(posed))
    with widgets.controls():
        key = "parts" if posed.is_image else "kind"
        kind = widgets.choose("Tokens exchange their", kinds, key) if kinds else None
    change, tokens = None, canvas.read_tokens(len(posed.tokens))
    if head := canvas.read_head(heads):
        change = changes.ablate_head(*head)
    elif kind and len(tokens) == 2:
        change = changes.exchange_tokens(posed, kind, *tokens)
    advice = f"{posed.model.name} has no roles or fillers to exchange."
    marked = [*change.first, *change.second] if change else []
    heading = "The caption" if posed.is_image else "All questions"
    _show_tokens(
        heading,
        posed.tokens,
        marked or None,
        f"Click two tokens: they exchange their {kind}." if kind else advice,
    )
    _offer_pairs(changes.list_pairs(posed) if kind else [])
    with lead:
        answer = state.once(
            lambda: views.summarize_answer(posed, store), "answer", name, posed.text
        )
        if change is None:
            widgets.lead(answer)
        else:
            widgets.lead(tp.dashboard.experiments.summarize_experiment(_try(name, posed, change)))
            st.caption(state.escape(f"Without the edit: {answer}"))
    _show_heads(posed, name, heads)
    _show_experiments()


def _offer_pairs(pairs) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="pairs"):
        for number, (told, *pair) in enumerate(pairs):
            picked = ",".join(map(str, pair))
            st.button(state.escape(told), f"pair-{number}", on_click=canvas.pick, args=(picked,))


def _show_heads(posed, name: str, heads) -> None:
    """Small maps of all heads; a click ablates one."""
    views, of_layer = tp.dashboard, {site.rpartition(".")[0]: site for site in heads}
    maps = state.once(posed.attend, "maps", name, posed.text)
    named = {of_layer.get(site.rpartition(".")[0]): weights for site, weights in maps.items()}
    named.pop(None, None)
    if not named:
        st.caption(state.escape(views.example_edits.summarize_headless(posed)))
        return
    st.markdown(MAPS)
    sent = views.attention.pack_heads(named, state.is_dark())
    canvas.offer_picks("heads", sent | {"advice": "HEAD becomes 0 (click again to undo)"})


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
    widgets.table(table)

    def clear() -> None:
        rows.clear()
        canvas.pick()

    with st.container(horizontal=True):
        data = table.to_csv(index=False)
        st.download_button("CSV", data, "experiments.csv", "text/csv", on_click="ignore")
        st.button("Clear the table", on_click=clear)
