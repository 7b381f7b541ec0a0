"""What a model expects next, or of an encoder without a head which samples are near, when two words of a text exchange
their states at a site: beside the states put back, and beside the same words in each other's role.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.dashboard.contents import read_texts
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.statements import Statement
from tprprobe.errors import InputError
from tprprobe.interventions.word_edits import SetAt
from tprprobe.models.protocol import Language, Model, require_vocabulary
from tprprobe.site.hooks import capture, find_sites, intervene
from tprprobe.site.patterns import side_of
from tprprobe.store import Store

LONGEST, WORDS = 4000, 10  # characters of a text; next words that are shown
PLAIN, EXCHANGED, BACK = "as it is", "exchanged", "put back"
ROLE, OTHER = "wrong role", "words exchanged"
TOLD = {
    PLAIN: "nothing is edited",
    EXCHANGED: "the two words exchange their states at the site",
    BACK: "control: the same states are put back",
    ROLE: "control: every word keeps its place, with the state that it has at the other place",
    OTHER: "the upper bound: the text with the two words exchanged",
}


@dataclass(frozen=True, eq=False)
class OpenText:
    """A text that a model reads: its ids, its tokens as text, and the tokens of every token's word."""

    model: Any
    text: str
    ids: Int[Tensor, "1 seq"]
    tokens: tuple[str, ...]
    words: tuple[tuple[int, ...], ...]


def is_open(model: Any) -> bool:
    """True for a model that is asked what comes next (or near), not a question."""
    return not isinstance(model, Model)


def has_head(model: Any) -> bool:
    """True if the model predicts symbols."""
    return isinstance(model, Language) and bool(getattr(model, "head", "own"))


def read_text(model: Any, text: str) -> OpenText:
    """A text in the model's ids; of a model that fills masks, with one behind it unless it has one.

    Raises:
        InputError: an empty or too long text, or a model without a vocabulary.
    """
    if not text.strip() or len(text) > LONGEST:
        raise InputError(f"a text of {len(text.strip())} characters: give 1 to {LONGEST}")
    vocabulary: Any = require_vocabulary(model)
    mask = getattr(model, "head", None) == "masked" and vocabulary.tokenizer.mask_token
    text = f"{text.rstrip()} {mask}." if mask and mask not in text else text
    before, behind = vocabulary.source_frame
    ids = [*before, *vocabulary.encode(text), *behind]
    tokens = tuple(vocabulary.spell([each]) or str(vocabulary.symbols[each]) for each in ids)
    ids = torch.tensor([ids], device=model.device)
    return OpenText(model, text, ids, tokens, group_words(text, vocabulary))


def group_words(text: str, vocabulary: Any) -> tuple[tuple[int, ...], ...]:
    """For every token of a text those of the same word or number; a sign is alone."""
    before, behind = vocabulary.source_frame
    places = [(0, 0)] * len(before) + list(vocabulary.offsets(text)) + [(0, 0)] * len(behind)
    spans = [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]
    word = [[i for i, (a, b) in enumerate(spans) if a < end and start < b] for start, end in places]
    of = [found[0] if found else -1 - n for n, found in enumerate(word)]
    return tuple(tuple(j for j, other in enumerate(of) if other == each) for each in of)


def list_states(model: Any) -> list[str]:
    """The sites whose states words can exchange: embeddings, and what every layer returns."""
    return [
        name
        for name, site in find_sites(model).items()
        if side_of(name) == "source"
        and name.endswith((".embedding", ".hidden"))
        and "head" not in site.axes
    ]


def exchange_states(
    asked: OpenText, site: str, first: int, second: int
) -> dict[str, Float[Tensor, " number"]]:
    """By way (``TOLD``) the distribution of the next token, or of a model without a head the mean of its last states.

    Raises:
        InputError: the same word twice, or no such token.
    """
    if first == second or not all(0 <= at < len(asked.tokens) for at in (first, second)):
        raise InputError(f"choose two of the tokens 0 to {len(asked.tokens) - 1}")
    one, two = find_words(asked.words, first, second)
    here, there = [*one, *two], [*two, *one]
    other = asked.ids.clone()
    other[0, here] = asked.ids[0, there]
    x, y = _states(asked.model, asked.ids, site), _states(asked.model, other, site)
    at = torch.tensor([here], device=asked.ids.device)
    put = {EXCHANGED: x[:, there], BACK: x[:, here], ROLE: y[:, there]}
    found = {PLAIN: _read_out(asked.model, asked.ids, {})}
    found |= {
        way: _read_out(asked.model, asked.ids, {site: SetAt(at, to)}) for way, to in put.items()
    }
    return found | {OTHER: _read_out(asked.model, other, {})}


def find_words(
    words: Sequence[tuple[int, ...]], first: int, second: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens of the words of two tokens if these have as many, else the two tokens alone."""
    one, two = words[first], words[second]
    return (one, two) if len(one) == len(two) and one != two else ((first,), (second,))


@torch.no_grad()
def _states(model: Any, ids: Tensor, site: str) -> Tensor:
    with capture(model, [site]) as acts:
        model.run(ids, ids[:, :1]) if not has_head(model) else model.predict(ids)
    return acts[site]


@torch.no_grad()
def _read_out(model: Any, ids: Tensor, edits: Mapping[str, Any]) -> Float[Tensor, " number"]:
    with intervene(model, edits):
        if has_head(model):
            return model.predict(ids)[0].float().cpu()
        return _states(model, ids, list_states(model)[-1])[0].float().mean(0).cpu()


def tabulate_words(asked: OpenText, found: Mapping[str, Tensor]) -> pd.DataFrame:
    """The words that are expected most as it is and after the exchange: their probability in every way."""
    spell: Any = require_vocabulary(asked.model).spell
    values = {way: p.numpy() for way, p in found.items()}
    most = _list_most(values)
    rows = pd.DataFrame({"next word": [visible(spell([i]).strip() or spell([i])) for i in most]})
    return rows.assign(**{way: each[most] for way, each in values.items()})


def tabulate_neighbors(
    found: Mapping[str, Tensor], means: Float[np.ndarray, "sample d_model"], texts: list[str]
) -> pd.DataFrame:
    """The samples nearest as it is and after the exchange: the cosine of the mean states in every way."""
    unit = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    values = {way: unit @ (v / v.norm().clamp_min(1e-12)).numpy() for way, v in found.items()}
    most = _list_most(values)
    rows = pd.DataFrame({"sample": most, "text": [visible(texts[i], 90) for i in most]})
    return rows.assign(**{way: each[most] for way, each in values.items()})


def _list_most(values: Mapping[str, np.ndarray]) -> list[int]:
    """The numbers of the largest values as it is, after the exchange, and with the words exchanged."""
    found = [np.argsort(-values[way], kind="stable")[:WORDS] for way in (PLAIN, EXCHANGED, OTHER)]
    return list(dict.fromkeys(np.concatenate(found).tolist()))[: 2 * WORDS]


def mean_states(store: Store, site: str) -> tuple[Float[np.ndarray, "sample d_model"], list[str]]:
    """The mean of every sample's states at a site of a store, and its text.

    Raises:
        InputError: the store lacks the site.
    """
    samples, at = np.unique(store.tokens_of(site)["sample"].to_numpy(), return_inverse=True)
    sums = np.zeros((len(samples), int(np.prod(store.specs[store.select(site)[0]].shape))))
    for rows, block in store.iterate(site):
        np.add.at(sums, at[rows], block.reshape(len(block), -1))
    return sums / np.bincount(at)[:, None], read_texts(store).loc[samples].tolist()


def summarize_exchange(
    asked: OpenText, site: str, first: int, second: int, table: pd.DataFrame
) -> Statement:
    """What the exchange does to the likeliest next word (or the nearest sample), beside its controls and its ceiling."""
    one, two = (
        "".join(asked.tokens[i] for i in word).strip()
        for word in find_words(asked.words, first, second)
    )
    name, what = ("next word", "probability") if "next word" in table else ("text", "cosine")
    before, after = (table.iloc[int(table[way].argmax())] for way in (PLAIN, EXCHANGED))
    text = (
        f"‘{visible(one)}’ and ‘{visible(two)}’ exchange their states at {site}: ‘{before[name]}’ "
    )
    if before[name] == after[name]:
        text += f"stays first ({what} {before[PLAIN]:.3f}, now {before[EXCHANGED]:.3f})"
    else:
        text += f"({what} {before[PLAIN]:.3f}, now {before[EXCHANGED]:.3f}) gives way to ‘{after[name]}’ ({after[PLAIN]:.3f}, now {after[EXCHANGED]:.3f})"
    beside = ", ".join(f"{way} {after[way]:.3f}" for way in (BACK, ROLE, OTHER))
    return Statement(f"{text}. ‘{after[name]}’ otherwise: {beside}.")
