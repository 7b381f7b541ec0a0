"""Trials on minimal pairs: both texts of an item as ids, where its two words stand, and the two answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from tprprobe.console import note
from tprprobe.data.batching import Ragged
from tprprobe.data.frames.grammar import Item, Text
from tprprobe.data.frames.pairsets import MinimalPairs, tokens_of
from tprprobe.errors import InputError
from tprprobe.interventions.prompts import add_mask
from tprprobe.models.protocol import Language, require_vocabulary

SHIFTS = (1, -1, 2, -2, 3, -3)  # from the two words to other tokens
NOWHERE = -1  # the position of what is not there
SEVERAL, LENGTHS = "a word of several tokens", "texts of two lengths"
ALIKE = "answers that begin alike"
TokenPair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Trials:
    """What a model is asked: n items of two texts each, padded.

    ``places`` are the two words' positions, ``aside`` two other tokens near them (NOWHERE: there are none), ``answers`` the first token of the text's answer and of the other text's. ``left_out`` counts
    the items that cannot be asked, by reason.
    """

    items: tuple[Item, ...]
    source: Int[Tensor, "item seq"]
    other_source: Int[Tensor, "item seq"]
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
    pairs = zip(items, results, strict=True)
    results_of_items = [(item, *ids) for item, ids in pairs if not isinstance(ids, str)]
    reasons = ", ".join(f"{n} have {reason}" for reason, n in left_out.items())
    if not results_of_items:
        raise InputError(
            f"{data.name}: none of {len(items)} items can be run on this model: {reasons}"
        )
    if reasons:
        note(f"{data.name}: of {len(items)} items, {reasons}: left out")
    asked_items, source, other_ids, places, inside, answers = zip(*results_of_items, strict=True)
    aside = [_aside(*pair) for pair in zip(places, inside, strict=True)]
    every, pad = torch.arange(len(asked_items)), model.config.pad
    text, changed = (Ragged.from_lists(ids).padded(every, pad) for ids in (source, other_ids))
    word_positions, aside_positions, answer_ids = map(torch.tensor, (places, aside, answers))
    return Trials(asked_items, text, changed, word_positions, aside_positions, answer_ids, left_out)


def _ask(
    model: Language, item: Item
) -> tuple[list[int], list[int], TokenPair, Sequence[int], TokenPair] | str:
    """The ids of both texts, the places of the two words and of others, the two answers; or why it cannot be asked."""
    text_ids, other_ids = (_encode(model, text) for text in (item.text, item.other))
    if text_ids is None or other_ids is None or text_ids[1] != other_ids[1]:
        return SEVERAL
    if len(text_ids[0]) != len(other_ids[0]):
        return LENGTHS
    answer, other_answer = (_answer(model, item.text, t.answer) for t in (item.text, item.other))
    if answer == other_answer != NOWHERE:
        return ALIKE
    return text_ids[0], other_ids[0], *text_ids[1:], (answer, other_answer)


def _encode(model: Language, text: Text) -> tuple[list[int], TokenPair, Sequence[int]] | None:
    """The ids of a text with what is asked, the first places of its two words, and of all other words but the first, which much
    attends to, and the last, behind which models predict; None for words of several tokens.
    """
    vocabulary, prompt = require_vocabulary(model), add_mask(model, text.whole)
    ids, (spans,) = vocabulary.encode_sources([prompt]), vocabulary.place_sources([prompt])
    tokens_of_words = [tokens_of(word.span, spans) for word in text.exchanged]
    if any(len(tokens) != 1 for tokens in tokens_of_words):
        return None
    position_a, position_b = (tokens[0] for tokens in tokens_of_words)
    inside = [place for place, (start, end) in enumerate(spans[:-1]) if start < end][1:]
    moved = {token for word in text.moved for token in tokens_of(word.span, spans)}
    return ids.values.tolist(), (position_a, position_b), [p for p in inside if p not in moved]


def _answer(model: Language, text: Text, answer: str) -> int:
    """The first token of an answer behind a text, or of what a decoder writes; NOWHERE where it is not said."""
    vocabulary = require_vocabulary(model)
    if not answer:
        return NOWHERE
    _, target = vocabulary.encode_answers([add_mask(model, text.whole)], [answer])
    return int(target.values[1 + len(vocabulary.begun)])


def _aside(places: TokenPair, inside: Sequence[int]) -> TokenPair:
    positions: list[int] = []
    for place in places:
        free = {*inside} - {*positions}
        near = (place + shift for shift in SHIFTS if place + shift in free)
        positions.append(next(near, NOWHERE))
    return (NOWHERE, NOWHERE) if NOWHERE in positions else (positions[0], positions[1])
