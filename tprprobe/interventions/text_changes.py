"""Changes of what was asked: two tokens exchange vectors, or a head is set to 0; what becomes of it, beside controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from tprprobe import plugins
from tprprobe.errors import InputError, unknown
from tprprobe.gold import evaluate
from tprprobe.interventions.asked_texts import (
    EDITED,
    OTHER,
    PLAIN,
    Asked,
    Edits,
    Said,
    Way,
    exact_answer,
    list_states,
    listen,
    measure_of,
)
from tprprobe.interventions.edits import exchange, swap, zero
from tprprobe.interventions.word_edits import SetAt
from tprprobe.models.protocol import require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import side_of
from tprprobe.store import Store
from tprprobe.store.token_texts import join, visible

BACK, ROLE, ARITHMETIC = "put back", "wrong role", "arithmetic"
WORDS = ("word.unbinding", "sentence.tpr")
KINDS = {  # of vectors that two tokens exchange in all layers: the ends of their sites
    "roles": (".role",),
    "fillers": (".filler",),
    "roles and fillers": (".role", ".filler"),
    "unbinding vectors": ("word.unbinding",),
    "sentence TPRs": ("sentence.tpr",),
    "unbinding vectors and TPRs": WORDS,
}
BOUND = (".role", ".filler", ".value")  # what an ablated head has no more, the first that there is


@dataclass(frozen=True)
class Change:
    """An edit in words, and the positions of the tokens that change places."""

    told: str
    edits: Edits
    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()


def list_kinds(asked: Asked) -> dict[str, list[str]]:
    """The kinds of vectors that tokens can exchange, with their sites: of all layers, or the states of one."""
    side = "target" if asked.is_image else "source"
    names = [n for n in find_sites(asked.model) if side_of(n) == side and ".cross." not in n]
    names = [n for n in names if not n.startswith("embedding.")]
    found = {kind: [n for n in names if n.endswith(ends)] for kind, ends in KINDS.items()}
    known = {end for end in BOUND[:2] + WORDS if any(n.endswith(end) for n in names)}
    found = {kind: sites for kind, sites in found.items() if {*KINDS[kind]} <= known}
    states = [] if asked.is_image else list_states(asked.model)
    return found | {f"states at {site}": [site] for site in states}


def list_heads(asked: Asked) -> dict[str, str]:
    """The sites whose heads can be ablated, by those of their attention maps."""
    sites = find_sites(asked.model)
    names = [n for n, site in sites.items() if "head" in site.axes and "query" not in site.axes]
    end = next((each for each in BOUND if any(n.endswith(each) for n in names)), None)
    bound = {n.rpartition(".")[0]: n for n in names if end is not None and n.endswith(end)}
    return {f"{of}.attention": n for of, n in bound.items() if f"{of}.attention" in sites}


def find_heads(asked: Asked) -> dict[str, Float[np.ndarray, "head query key"]]:
    """The attention maps of the heads that can be ablated while the model reads and writes, by their site."""
    maps = list_heads(asked)
    acts = asked.run(asked.source, *maps) if maps else {}
    return {site: acts[name][0].float().cpu().numpy() for name, site in maps.items()}


def list_pairs(asked: Asked) -> list[tuple[str, int, int]]:
    """Symbols of a question whose exchange has an exact answer, as plug-ins find them: in words, and a token of each."""
    if not exact_answer(asked):
        return []
    before = int(require_vocabulary(asked.model).source_start)
    return [
        (words, first + before, second + before)
        for find in plugins.load_all("exchanges").values()
        for words, first, second in find(asked.text)
    ]


def exchange_tokens(asked: Asked, kind: str, first: int, second: int) -> Change:
    """The exchange of two tokens' vectors; of numbers or words of as many parts, of all of them."""
    if kind not in (kinds := list_kinds(asked)):
        raise unknown("kind of vectors", kind, kinds)
    if first == second or not all(0 <= at < len(asked.tokens) for at in (first, second)):
        raise InputError(f"choose two of the tokens 0 to {len(asked.tokens) - 1}")
    spans = find_words(asked.words, first, second)
    edit = swap(exchange([spans[0]], [spans[1]], len(asked.tokens)))
    texts = (visible(join(asked.tokens[at] for at in span)) for span in spans)
    one, other = (f"‘{text}’ ({span[0]})" for text, span in zip(texts, spans, strict=True))
    return Change(f"{kind} of {one} and {other} exchanged", dict.fromkeys(kinds[kind], edit), *spans)  # fmt: skip


def find_words(
    words: Sequence[tuple[int, ...]], first: int, second: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens of the words of two tokens if these have as many, else the two tokens alone."""
    one, two = words[first], words[second]
    return (one, two) if len(one) == len(two) and one != two else ((first,), (second,))


def ablate_head(site: str, head: int) -> Change:
    """One head's vectors of a site replaced by 0: it binds nothing."""
    return Change(f"head {head} of {site} replaced by 0", {site: zero(heads=[head])})


def list_ways(asked: Asked, change: Change | None = None) -> dict[str, Way]:
    """What the model reads as it is and edited; of an exchange in a text with its controls."""
    source = asked.source
    if change is None:
        return {PLAIN: (source, {})}
    ways: dict[str, Way] = {PLAIN: (source, {}), EDITED: (source, change.edits)}
    if asked.is_image or not change.first:
        return ways
    here, there = [*change.first, *change.second], [*change.second, *change.first]
    other = source.clone()
    other[0, here] = source[0, there]
    x, y = (asked.run(ids, *change.edits) for ids in (source, other))
    at = torch.tensor([here], device=source.device)
    ways[BACK] = source, {site: SetAt(at, states[:, here]) for site, states in x.items()}
    ways[ROLE] = source, {site: SetAt(at, states[:, there]) for site, states in y.items()}
    return ways | {OTHER: (other, {})}


def predict_exact(asked: Asked, change: Change) -> str:
    """The exact answer to the changed question; empty where it is none."""
    vocabulary = require_vocabulary(asked.model)
    if not change.first or vocabulary.has_words or not exact_answer(asked):
        return ""
    before = int(vocabulary.source_start)
    first, second = ([at - before for at in each] for each in (change.first, change.second))
    if min(first + second) < 0 or max(first + second) >= len(asked.text):
        return ""  # a start or end symbol is no part of the text
    symbols = list(asked.text)
    for one, other in zip(first, second, strict=True):
        symbols[one], symbols[other] = symbols[other], symbols[one]
    try:
        return str(evaluate("".join(symbols)))
    except InputError:
        return ""


def try_change(
    asked: Asked, change: Change, store: Store | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What the model says with and without a change and its controls, and :func:`judge` of that."""
    exact = predict_exact(asked, change)
    said = listen(asked, list_ways(asked, change), store, exact)
    return said.table, judge(said, change.told, exact) | {"asked": visible(asked.text, 120)}


def judge(said: Said, told: str, exact: str = "") -> dict[str, Any]:
    """One row: what is said before and after an edit with its probability (or cosine), in every way, and what was predicted."""
    (what, measure), table = measure_of(said), said.table
    before, after = (table.iloc[said.first[way]] for way in (PLAIN, EDITED))
    controls = {way: after[way] for way in (BACK, ROLE, OTHER) if way in table}
    row = {"edit": told, f"{what} before": before[what], measure: before[PLAIN], "now": before[EDITED]}  # fmt: skip
    row |= {f"{what} after": after[what], "of it before": after[PLAIN], "of it now": after[EDITED], **controls}  # fmt: skip
    if not exact and OTHER not in table:
        return row
    predicted = exact or str(table.iloc[said.first[OTHER]][what])
    by = ARITHMETIC if exact else OTHER
    return row | {"predicted": predicted, "by": by, "as predicted": predicted == after[what]}
