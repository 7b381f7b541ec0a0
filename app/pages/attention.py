"""Attention: which head follows a relation, any head's map with lines between words, and all heads of a sample."""

import linked
import parts
import state
import streamlit as st

import tprprobe as tp

ALL = "all relations"


@state.page("Attention")
def attention() -> None:
    store, views, dark = state.store(), tp.dashboard, state.is_dark()
    sites = views.choices.list_maps(store)
    if not sites:
        st.info(
            "This store keeps no attention maps: extract it again with `--attention-samples` and their number."
        )
        return
    lead, followed = (
        st.container(),
        state.once(lambda: views.attention.follow(store), "followed", *state.key()),
    )
    with parts.controls():
        known = views.attention.list_followed(followed)
        relation = parts.choose("Relation", [ALL, *known], "relation") if known else ALL
        asked = "" if relation == ALL else relation
        scores = state.once(
            lambda: views.attention.score_attention(store, followed, asked),
            "heads",
            *state.key(asked),
        )
        is_relation = "follows" in scores
        told = (views.headlines.tell_attention if is_relation else views.headlines.tell_sharpest)(
            scores
        )
        named = told.links[0].query  # what the first line names is shown first
        site = parts.choose("Sub-layer", sites, "maps", sites.index(named["maps"]))
        heads = range(views.choices.count_heads(store, site))
        head = parts.choose(
            "Head", heads, "head", int(named["head"]) if site == named["maps"] else 0
        )
    with lead:
        parts.lead(told)
    title = (
        f"How often heads follow {relation}, in percent"
        if is_relation
        else "Mean largest weight of every head, in percent"
    )
    parts.show(views.attention.show_heads(scores, title, dark), "heads")
    sample = parts.choose_sample(store, store.count_maps(site))
    maps, mark = views.read_maps(store, site, sample), state.mark()
    parts.titled(
        f"{site}, head {head}, sample {sample}",
        lambda: views.show_matrix(store, maps, head),
        "matrix",
    )
    linked.mount(
        "attend", "linked-attend", views.browser_payload.pack_attention(store, maps, head, dark)
    )
    linked.feed_mark(mark)
    alike = views.choices.like(sites, site)
    with st.expander(f"All heads of {len(alike)} layers on this sample"):
        parts.titled("All heads", lambda: views.attention.show_grid(store, alike, sample), "grid")
        linked.offer_picks(
            "heads",
            views.browser_payload.pack_heads(store, {each: each for each in alike}, sample, dark),
        )
        if (found := linked.read_head(dict.fromkeys(alike, heads))) and found != (site, head):
            link = views.sentence.Link(
                f"Show {found[0]}, head {found[1]}",
                "attention",
                {"maps": found[0], "head": str(found[1])},
            )
            parts.show_links([link])
    with st.expander("All numbers"):
        parts.table(scores)
