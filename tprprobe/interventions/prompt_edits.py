"""Changes of what was asked: two tokens exchange vectors, or a head is set to 0; what becomes of it, beside controls."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from tprprobe import plugins
from tprprobe.data.documents.articlefiles import Article
from tprprobe.errors import InputError, unknown
from tprprobe.gold import evaluate
from tprprobe.interventions import prompts
from tprprobe.interventions.edits import exchange, swap, zero
from tprprobe.interventions.prompts import EDITED, UNEDITED, WORDS_EXCHANGED, EditedInput, Prompt
from tprprobe.interventions.word_edits import SetAt
from tprprobe.models.protocol import require_vocabulary
from tprprobe.site.hooks import find_sites, intervene
from tprprobe.site.labels import site_label
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

    description: str
    edits: prompts.Edits
    first_word: tuple[int, ...] = ()
    second_word: tuple[int, ...] = ()


def list_kinds(prompt: Prompt) -> dict[str, list[str]]:
    """The kinds of vectors that tokens can exchange, with their sites: of all layers, or the states of one.

    Where the mean of all tokens or a mask is read, states that an exchange only moves are left out.
    """
    side = "target" if prompt.is_image else "source"
    names = [n for n in find_sites(prompt.model) if side_of(n) == side and ".cross." not in n]
    names = [n for n in names if not n.startswith("embedding.")]
    present = {end for end in BOUND[:2] + WORDS if any(n.endswith(end) for n in names)}
    kinds = {kind: ends for kind, ends in KINDS.items() if {*ends} <= present}
    sites_of_kind = {kind: [n for n in names if n.endswith(ends)] for kind, ends in kinds.items()}
    states = [] if prompt.is_image else prompts.list_states(prompt.model)
    if not prompts.has_head(prompt.model) or getattr(prompt.model, "head", "") == "masked":
        states = states[: bisect_left(states, True, key=lambda site: _keeps_mean(prompt, site))]
    return sites_of_kind | {f"states at {site_label(site)}": [site] for site in states}


def _keeps_mean(prompt: Prompt, site: str) -> bool:
    """True if later layers do not tell places: two exchanged states leave the mean of the last ones as it is."""
    last, n_tokens = prompts.list_states(prompt.model)[-1], len(prompt.tokens)
    edit = swap(exchange([[0]], [[n_tokens - 1]], n_tokens))
    mean = prompt.run(prompt.source, last)[last].mean(1)
    with intervene(prompt.model, {site: edit}):
        edited_mean = prompt.run(prompt.source, last)[last].mean(1)
    return bool((mean - edited_mean).abs().max() <= 1e-5 * mean.abs().max())


def list_heads(prompt: Prompt) -> dict[str, str]:
    """The sites whose heads can be ablated, by those of their attention maps."""
    sites = find_sites(prompt.model)
    names = [n for n, site in sites.items() if "head" in site.axes and "query" not in site.axes]
    end = next((ending for ending in BOUND if any(n.endswith(ending) for n in names)), None)
    bound = {n.rpartition(".")[0]: n for n in names if end is not None and n.endswith(end)}
    maps = {f"{module}.attention": n for module, n in bound.items()}
    return {name: n for name, n in maps.items() if name in sites}


def find_heads(prompt: Prompt) -> dict[str, Float[np.ndarray, "head query key"]]:
    """The attention maps of the heads that can be ablated while the model reads and writes, by their site."""
    maps = list_heads(prompt)
    acts = prompt.run(prompt.source, *maps) if maps else {}
    return {site: acts[name][0].float().cpu().numpy() for name, site in maps.items()}


def list_pairs(prompt: Prompt) -> list[tuple[str, int, int]]:
    """Symbols of a question whose exchange has an exact answer, as plug-ins find them: in words, and a token of each."""
    if not prompts.exact_answer(prompt):
        return []
    before = int(require_vocabulary(prompt.model).source_start)
    return [
        (words, token_a + before, token_b + before)
        for find in plugins.load_all("exchanges").values()
        for words, token_a, token_b in find(prompt.text)
    ]


def exchange_tokens(prompt: Prompt, kind: str, token_a: int, token_b: int) -> Change:
    """The exchange of two tokens' vectors; of numbers or words of as many parts, of all of them."""
    if kind not in (kinds := list_kinds(prompt)):
        raise unknown("kind of vectors", kind, kinds)
    if token_a == token_b or not {token_a, token_b} <= {*range(len(prompt.tokens))}:
        raise InputError(f"choose two of the tokens 0 to {len(prompt.tokens) - 1}")
    spans = find_words(prompt.words, token_a, token_b)
    edit = swap(exchange([spans[0]], [spans[1]], len(prompt.tokens)))
    texts = (visible(join(prompt.tokens[token] for token in span)) for span in spans)
    text_a, text_b = (f"‘{text}’ ({span[0]})" for text, span in zip(texts, spans, strict=True))
    return Change(f"{kind} of {text_a} and {text_b} exchanged", dict.fromkeys(kinds[kind], edit), *spans)  # fmt: skip


def find_words(
    words: Sequence[tuple[int, ...]], token_a: int, token_b: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens of the words of two tokens if these have as many, else the two tokens alone."""
    word_a, word_b = words[token_a], words[token_b]
    if len(word_a) == len(word_b) and word_a != word_b:
        return word_a, word_b
    return (token_a,), (token_b,)


def ablate_head(site: str, head: int) -> Change:
    """One head's vectors of a site replaced by 0: it binds nothing."""
    where = site_label(site.rpartition(".")[0], head)
    return Change(f"{where} replaced by 0", {site: zero(heads=[head])})


def list_inputs(prompt: Prompt, change: Change | None = None) -> dict[str, EditedInput]:
    """What the model reads as it is and edited; of an exchange in a text with its controls."""
    source = prompt.source
    if change is None:
        return {UNEDITED: (source, {})}
    inputs: dict[str, EditedInput] = {UNEDITED: (source, {}), EDITED: (source, change.edits)}
    if prompt.is_image or not change.first_word:
        return inputs
    positions = [*change.first_word, *change.second_word]
    other_positions = [*change.second_word, *change.first_word]
    exchanged_ids = source.clone()
    exchanged_ids[0, positions] = source[0, other_positions]
    exchanged_text = _exchange_words(prompt, change)
    if exchanged_text.shape == source.shape:
        exchanged_ids = exchanged_text
    x, y = (prompt.run(ids, *change.edits) for ids in (source, exchanged_ids))
    words = torch.tensor([positions], device=source.device)
    for way, acts, columns in ((BACK, x, positions), (ROLE, y, other_positions)):
        inputs[way] = source, {n: SetAt(words, states[:, columns]) for n, states in acts.items()}
    return inputs | {WORDS_EXCHANGED: (exchanged_text, {})}


def _exchange_words(prompt: Prompt, change: Change) -> torch.Tensor:
    """The ids of the text whose two words have changed places, blanks left where they are."""
    text, words = prompt.text, (change.first_word, change.second_word)
    [places] = require_vocabulary(prompt.model).place_sources([text])
    spans = sorted((places[word[0]][0], places[word[-1]][1]) for word in words)
    (a, b), (c, d) = ((end - len(text[start:end].lstrip()), end) for start, end in spans)
    exchanged = f"{text[:a]}{text[c:d]}{text[b:c]}{text[a:b]}{text[d:]}"
    return prompts.encode(prompt.model, Article(exchanged, ""))[0]


def predict_exact(prompt: Prompt, change: Change) -> str:
    """The exact answer to the changed question; empty where it is none."""
    vocabulary = require_vocabulary(prompt.model)
    if not change.first_word or vocabulary.has_words or not prompts.exact_answer(prompt):
        return ""
    before = int(vocabulary.source_start)
    spans = change.first_word, change.second_word
    positions_a, positions_b = ([position - before for position in span] for span in spans)
    if min(positions_a + positions_b) < 0 or max(positions_a + positions_b) >= len(prompt.text):
        return ""  # a start or end symbol is no part of the text
    symbols = list(prompt.text)
    for i, j in zip(positions_a, positions_b, strict=True):
        symbols[i], symbols[j] = symbols[j], symbols[i]
    try:
        return str(evaluate("".join(symbols)))
    except InputError:
        return ""


def try_change(
    prompt: Prompt, change: Change, store: Store | None = None
) -> tuple[pd.DataFrame, dict[str, object]]:
    """What the model says with and without a change and its controls, and :func:`judge` of that."""
    exact = predict_exact(prompt, change)
    output = prompts.read_output(prompt, list_inputs(prompt, change), store, exact)
    row = compare_to_expected(output, change.description, exact)
    return output.table, row | {"asked": visible(prompt.text, 120)}


def compare_to_expected(
    output: prompts.ModelOutput, description: str, exact: str = ""
) -> dict[str, object]:
    """One row: what is said before and after an edit with its probability (or cosine), in every way, and what was predicted."""
    table = output.table
    column, measure = prompts.name_measure(table)
    row_before, row_after = (table.iloc[output.first_rows[way]] for way in (UNEDITED, EDITED))
    row_changed = prompts.find_most_changed(table, UNEDITED, EDITED)
    row: dict[str, object] = {"edit": description}
    for name, values in (("old", row_before), ("new", row_after), ("other", row_changed)):
        if values is not None:
            ways = [UNEDITED, EDITED] + [BACK, ROLE, WORDS_EXCHANGED] * (name == "new")
            row[f"{name} {column}"] = values[column]
            row |= {f"{measure} of {name}, {way}": values[way] for way in ways if way in table}
    if not exact and WORDS_EXCHANGED not in table:
        return row
    predicted = exact or str(table.iloc[output.first_rows[WORDS_EXCHANGED]][column])
    predictor = ARITHMETIC if exact else WORDS_EXCHANGED
    is_predicted = predicted == row_after[column]
    return row | {"predicted": predicted, "by": predictor, "as predicted": is_predicted}
