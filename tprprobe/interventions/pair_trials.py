"""Trials on minimal pairs: both texts of an item as ids, where its two words stand, and the two answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from tprprobe.data.batching import Ragged
from tprprobe.data.frames.grammar import Item, Text
from tprprobe.data.frames.pairsets import MinimalPairs, tokens_of
from tprprobe.errors import InputError
from tprprobe.models.protocol import Language, require_vocabulary

SHIFTS = (1, -1, 2, -2, 3, -3)  # from the two words to other tokens
NOWHERE = -1  # the position of what is not there
SEVERAL, LENGTHS = "a word of several tokens", "texts of two lengths"
ALIKE = "answers that begin alike"
Two = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Trials:
    """What a model is asked: n items of two texts each, padded.

    ``places`` are the two words' positions, ``aside`` two other tokens near them (NOWHERE: there are none), ``answers`` the first token of the text's answer and of the other text's. ``left_out`` counts
    the items that cannot be asked, by reason.
    """

    items: tuple[Item, ...]
    source: Int[Tensor, "item seq"]
    other: Int[Tensor, "item seq"]
    places: Int[Tensor, "item word"]
    aside: Int[Tensor, "item word"]
    answers: Int[Tensor, "item answer"]
    left_out: Counter[str]

    def __len__(self) -> int:
        return len(self.items)


def make_trials(model: Language, data: MinimalPairs) -> Trials:
    """The items of these pairs in a model's ids."""
    items = [data.items[i] for i in dict.fromkeys(row // 2 for row in data.rows)]
    results = [_ask(model, item) for item in items]
    left_out = Counter(result for result in results if isinstance(result, str))
    asked = [
        (item, *ids) for item, ids in zip(items, results, strict=True) if not isinstance(ids, str)
    ]
    if not asked:
        reasons = ", ".join(f"{n} have {reason}" for reason, n in left_out.items())
        raise InputError(
            f"{data.name}: none of {len(items)} items can be run on this model: {reasons}"
        )
    known, source, other, places, inside, answers = zip(*asked, strict=True)
    aside = [_aside(*each) for each in zip(places, inside, strict=True)]
    every, pad = torch.arange(len(known)), model.config.pad
    text, changed = (Ragged.from_lists(ids).padded(every, pad) for ids in (source, other))
    at, beside, asked_for = map(torch.tensor, (places, aside, answers))
    return Trials(known, text, changed, at, beside, asked_for, left_out)


def _ask(model: Language, item: Item) -> tuple[list[int], list[int], Two, Sequence[int], Two] | str:
    """The ids of both texts, the places of the two words and of others, and the two answers; or the reason why it
    cannot be asked.
    """
    first, other = (_encode(model, text) for text in (item.text, item.other))
    if first is None or other is None or first[1] != other[1]:
        return SEVERAL
    if len(first[0]) != len(other[0]):
        return LENGTHS
    one, two = (_answer(model, item.text, text.answer) for text in (item.text, item.other))
    return ALIKE if one == two != NOWHERE else (first[0], other[0], *first[1:], (one, two))


def _encode(model: Language, text: Text) -> tuple[list[int], Two, Sequence[int]] | None:
    """The ids of a text with what is asked, the places of its two words, and of all words but the first, which much
    attends to, and the last, behind which models predict; None for words of several tokens.
    """
    vocabulary, whole = require_vocabulary(model), _prompt(model, text)
    ids, (spans,) = vocabulary.encode_sources([whole]), vocabulary.place_sources([whole])
    found = [tokens_of(word.span, spans) for word in text.exchanged]
    if any(len(tokens) != 1 for tokens in found):
        return None
    one, two = (tokens[0] for tokens in found)
    inside = [place for place, (start, end) in enumerate(spans[:-1]) if start < end]
    return ids.values.tolist(), (one, two), inside[1:]


def _prompt(model: Any, text: Text) -> str:
    """What a model is given: the text; of a model that fills masks with a mask behind."""
    if getattr(model, "head", None) != "masked":
        return text.whole
    return f"{text.whole} {model.vocabulary.tokenizer.mask_token}."


def _answer(model: Language, text: Text, answer: str) -> int:
    """The first token of an answer behind a text, or of what a decoder writes; NOWHERE where it is not said."""
    vocabulary = require_vocabulary(model)
    if not answer:
        return NOWHERE
    _, target = vocabulary.encode_answers([_prompt(model, text)], [answer])
    return int(target.values[1 + len(vocabulary.begun)])


def _aside(places: Two, inside: Sequence[int]) -> Two:
    """The tokens of these that are nearest to the words."""
    others = {*inside} - {*places}
    chosen: list[int] = []
    for place in places:
        near = (place + shift for shift in SHIFTS if place + shift in others - {*chosen})
        chosen.append(next(near, NOWHERE))
    return (NOWHERE, NOWHERE) if NOWHERE in chosen else (chosen[0], chosen[1])
