"""The choice of an edit on Ask: which tokens, heads, clusters or fillers, by clicking them."""

import parts
import state
import streamlit as st

import tprprobe as tp

EDITS = ("Exchange two tokens", "Ablate a head", "Snap a role", "Change a filler")
MOST = 300  # tokens that can be clicked
BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")  # the place of a token: no two look the same


def _pick(label: str, posed, key: str, many: int = 1) -> list[int]:
    """Tokens chosen by clicking them, of long texts from a list."""
    told = {
        i: f"{state.escape(tp.views.safe_text.visible(token))} {str(i).translate(BELOW)}"
        for i, token in enumerate(posed.tokens)
    }  # labels are Markdown
    given = {"format_func": told.get, "key": f"{key}-{len(posed.tokens)}"}
    if len(told) > MOST:
        chosen = st.multiselect(label, list(told), max_selections=many, **given)
    else:
        chosen = st.pills(label, list(told), selection_mode="multi", **given)
    if len(chosen) > many:
        st.caption(f"The first {many} of the chosen tokens count.")
    return chosen[:many]


def choose_change(posed, store, site, head, k):
    """The edit that the choices describe; None until it is complete."""
    experiments = tp.views.experiments
    offered = EDITS[:1] if posed.is_image else EDITS
    edit = st.segmented_control("Edit", offered, default=offered[0], key="what", required=True)
    if not posed.kinds:
        st.info("This model has no roles or fillers to edit: it is asked as it is.")
        return None
    if edit == EDITS[0]:
        kind = st.segmented_control(
            "Of these tokens exchange the",
            list(posed.kinds),
            default=next(iter(posed.kinds), None),
            key="kind",
            required=True,
        )
        tokens = _pick(
            "Click two tokens (of a number all its digits go along)", posed, "exchanged", 2
        )
        return (
            experiments.exchange_tokens(posed, kind, *tokens) if kind and len(tokens) == 2 else None
        )
    if edit == EDITS[1]:
        heads = {
            state.escape(f"{at.rpartition('.')[0]} · {number}"): (at, number)
            for at, number in posed.heads
        }
        chosen = st.pills("Click a head: its vectors become 0", list(heads), key="ablated")
        return experiments.ablate_head(*heads[chosen]) if chosen else None
    if edit == EDITS[2] and site:
        scene = state.scene(site, head, k)
        tokens = _pick(
            f"Click a token; its role in {scene.place} becomes a cluster's center", posed, "snapped"
        )
        cluster = st.selectbox(
            "Cluster",
            range(scene.roles.k),
            format_func=tp.views.inventory.name_clusters(scene).get,
            key="cluster",
        )
        return experiments.snap_role(posed, scene.roles, tokens[0], cluster) if tokens else None
    if edit == EDITS[3]:
        return _choose_filler(posed, store)
    return None


def _choose_filler(posed, store):
    runs, found = state.runs(), list(state.runs().beside(store, "decompositions"))
    if not found:
        st.info("A filler is changed in a decomposition of the store's states: there is none yet.")
        parts.offer_runs("decomposition")
        return None
    run = st.selectbox("Decomposition", found, key="decomposed")
    scores = tp.views.role_fits.read_decompositions({run: runs.folder("decompositions", run)})
    best = tp.views.headlines.top(scores[scores["control"] == ""], "r2")
    fit = state.fit_roles(
        state.root(), state.store_name(), run, best["site"], best["roles"], best["rank"]
    )
    states = tp.views.role_fits.read_tokens(fit, posed.tokens)
    tokens = _pick(f"Click a token; its filler in {fit.site} becomes another", posed, "filled")
    known = [str(each) for each in fit.fit.pairs.fillers]
    filler = st.selectbox(
        "becomes", known, format_func=tp.views.safe_text.visible, key=f"filler-{tokens}"
    )
    return tp.views.experiments.change_filler(posed, states, tokens[0], filler) if tokens else None
