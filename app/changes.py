"""The edit on Ask: what is done with the tokens or the head that are picked, and what a model lacks for it."""

from typing import Any, NamedTuple

import asked
import parts
import state
import streamlit as st
from asked import ABLATE, EXCHANGE

import tprprobe as tp

SNAP, FILL = "Snap a role", "Change a filler"


class Edit(NamedTuple):
    """How many tokens are picked, what to do next, and the change once all is chosen."""

    many: int
    advice: str
    change: Any = None


def choose_scene(store, kept):
    """The clusters of the store's vectors that color the tokens; None without such vectors."""
    choices = tp.dashboard.choices
    sites = [each for each in choices.list_vectors(kept) if each in store.sites]
    if not sites:
        return None
    site = st.selectbox("Colour by", sites, choices.first_role(sites), key="site", **state.KEEP)
    heads = choices.count_heads(store, site)
    head = None
    if heads:
        head = st.selectbox("Head", range(heads), key="head", **state.KEEP)
    return state.scene(site, head, st.session_state.get("k", 20))


def choose_edit() -> str:
    """The kind of edit."""
    first = None if "what" in st.session_state else EXCHANGE  # a head that is clicked sets it
    given = {"key": "what", "required": True, "wrap": True, **state.KEEP}
    return st.segmented_control("Edit", (EXCHANGE, ABLATE, SNAP, FILL), default=first, **given)


def choose_change(posed, store, what: str, scene) -> Edit:
    """The edit that the choices describe."""
    if what == EXCHANGE:
        return _exchange(posed)
    if what == ABLATE:
        return _ablate(posed)
    return _snap(posed, scene) if what == SNAP else _fill(posed, store)


def _lack(told: str) -> Edit:
    """One sentence on what this model does not have."""
    st.info(state.escape(told))
    return Edit(2, "")


def _exchange(posed) -> Edit:
    changes = tp.dashboard.example_edits
    kinds = list(changes.list_kinds(posed))
    if not kinds:
        return _lack(f"{posed.model.name} has no roles or fillers: there is nothing to exchange.")
    given = {"default": kinds[0], "required": True, "wrap": True, **state.KEEP}
    given["key"] = "parts" if posed.is_image else "kind"
    kind = st.segmented_control("Of these tokens exchange the", kinds, **given)
    tokens = asked.read_tokens(len(posed.tokens))
    if len(tokens) < 2:
        then = "a second token" if tokens else "two tokens"
        where = "" if posed.is_image else " in all layers of the encoder"
        return Edit(2, f"Click {then}: they exchange their {kind}{where}.")
    change = changes.exchange_tokens(posed, kind, *tokens)
    return Edit(2, "Click another token for another pair.", change)


def offer_pairs(posed) -> None:
    """Numbers of a question that can change places, a button each."""
    if not (pairs := tp.dashboard.example_edits.list_pairs(posed)):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="pairs"):
        st.caption("Or click a pair:", width="content")
        for number, (told, *pair) in enumerate(pairs):
            text = ",".join(map(str, pair))
            st.button(state.escape(told), f"pair-{number}", on_click=asked.pick, args=(text,))


def _ablate(posed) -> Edit:
    heads = tp.dashboard.example_edits.list_heads(posed)
    if not heads:
        return Edit(2, "")  # said where the heads would be
    head = asked.read_head(heads)
    if head is None:
        return Edit(2, "Click a head’s map below: its vectors become 0, so that it binds nothing.")
    return Edit(2, "Click the map again to undo it.", tp.dashboard.example_edits.ablate_head(*head))


def _snap(posed, scene) -> Edit:
    if scene is None or scene.side != posed.side:
        return _lack(
            "Only vectors of the tokens below are snapped: choose roles of the encoder above."
            if scene is not None
            else "The store holds no vectors of these tokens: it has no clusters to snap to."
        )
    named = tp.dashboard.tables.name_clusters(scene)
    given: dict[str, Any] = {
        "index": None,
        "placeholder": "Choose one",
        "key": "cluster",
    } | state.KEEP
    cluster = st.selectbox(
        "becomes the center of cluster",
        range(scene.roles.k),
        format_func=named.__getitem__,
        **given,
    )
    tokens = asked.read_tokens(len(posed.tokens), 1)
    if not tokens:
        return Edit(1, f"Click a token: its vector at {scene.place} becomes a cluster’s center.")
    if cluster is None:
        return Edit(1, "Choose the cluster above.")
    change = tp.dashboard.example_edits.snap_role(posed, scene.roles, tokens[0], cluster)
    return Edit(1, "Click another token, or choose another cluster.", change)


def _fill(posed, store) -> Edit:
    if posed.is_image:
        return _lack(
            "Fillers are changed in states of an encoder’s tokens; a model of captions has none."
        )
    runs, found = state.runs(), list(state.runs().beside(store, "decompositions"))
    if not found:
        told = "A filler is changed in a decomposition of the store’s states: there is none yet."
        edit = _lack(told)
        parts.offer_runs("decomposition")
        return edit
    run = st.selectbox("Decomposition", found, key="decomposed", **state.KEEP)
    scores = tp.dashboard.role_fits.read_decompositions({run: runs.folder("decompositions", run)})
    best = tp.dashboard.headlines.find_scheme(scores)
    fit = state.fit_roles(
        state.root(), state.store_name(), run, best["site"], best["roles"], best["rank"]
    )
    states = tp.dashboard.role_fits.read_tokens(fit, posed.tokens)
    known = [str(each) for each in fit.fit.pairs.fillers]
    given = {"index": None, "placeholder": "Choose one", "key": "becomes", **state.KEEP}
    filler = st.selectbox("becomes", known, format_func=tp.dashboard.safe_text.visible, **given)
    tokens = asked.read_tokens(len(posed.tokens), 1)
    if not tokens:
        return Edit(1, f"Click a token: another filler is bound at its role in {fit.site}.")
    if filler is None:
        return Edit(1, "Choose the filler above.")
    change = tp.dashboard.example_edits.change_filler(posed, states, tokens[0], filler)
    return Edit(1, "Click another token, or choose another filler.", change)
