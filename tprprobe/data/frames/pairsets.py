"""Minimal pairs as a data set: two texts an item, which is a document; the items are drawn, seeded."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from tprprobe.console import note
from tprprobe.data.dataset import ALL, Dataset, Labels, Request
from tprprobe.data.frames.grammar import (
    EXCHANGED,
    Frame,
    Item,
    draw_items,
    find_tasks,
    label_text,
    list_frames,
    read_frame,
)
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError, unknown
from tprprobe.files.settings import parse
from tprprobe.gold.labels import Labelled

PREFIX, EVERY = "pairs:", "all"
OPTIONS = ("asked", "one_token")
DEFAULT = 1000  # texts
TYPED = "text"  # the frame of a text that somebody typed


@dataclass(frozen=True)
class PairText:
    sentence: Labelled
    target: str
    module: str
    has_one_answer = True

    @property
    def source(self) -> str:
        return self.sentence.text

    @property
    def document_name(self) -> str:
        return self.sentence.document

    def labels(self, _generated: str | None) -> Labels:
        return self.sentence, None


@dataclass(frozen=True, repr=False)
class MinimalPairs(Dataset[PairText]):
    """Rows 2i and 2i + 1 are the texts of item i, with their question if ``asked``; ``one_token``: see :meth:`suited_to`."""

    frames: dict[str, Frame]
    items: tuple[Item, ...]
    asked: bool = False
    one_token: bool = False

    def read(self, rows: Sequence[int]) -> Iterator[PairText]:
        for row in rows:
            item = self.items[row // 2]
            text = item.other if row % 2 else item.text
            name = f"{item.name}{' other' * (row % 2)}"
            labelled = label_text(self.frames[item.frame], name, item.name, text, self.asked)
            yield PairText(labelled, text.answer, item.frame)

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t for frame in self.frames.values() for t in find_tasks(frame)))

    def suited_to(self, vocabulary: Codec) -> "MinimalPairs":
        """With ``one_token`` as many items anew, of words that are one token for a model."""
        if not self.one_token:
            return self
        source, n_left_out, suited = _in_turn(self.frames, self.seed), 0, []
        while len(suited) < len(self.items) and (item := next(source, None)):
            if has_single_tokens(item, vocabulary):
                suited.append(item)
            else:
                n_left_out += 1
        if not suited:
            raise InputError(f"{self.name}: no item has two words that are single tokens here")
        if n_left_out:
            message = f"left out {n_left_out}, whose two words are not single tokens"
            note(f"{self.name}: {len(suited)} items; {message}")
        return replace(self, items=tuple(suited), rows=range(2 * len(suited))[: len(self.rows)])


def has_single_tokens(item: Item, vocabulary: Codec) -> bool:
    texts = (item.text, item.other)
    offsets = vocabulary.all_offsets([text.text for text in texts])
    pairs = zip(texts, offsets, strict=True)
    return all(len(tokens_of(w.span, spans)) == 1 for text, spans in pairs for w in text.moved)


def tokens_of(span: tuple[int, int], offsets: Sequence[tuple[int, int]]) -> list[int]:
    return [i for i, (start, end) in enumerate(offsets) if start < span[1] and span[0] < end]


def is_pairs(spec: str) -> bool:
    return spec.startswith(PREFIX)


def draw_pairs(request: Request) -> MinimalPairs:
    """The pairs of a frame, of several in turn (`a+b`) or of all; n counts texts, two an item."""
    if request.split not in (None, ALL):
        raise InputError(f"{request.spec} has no splits: leave --split out")
    names, *options = request.spec.removeprefix(PREFIX).split(",")
    if strange := [option for option in options if option not in OPTIONS]:
        raise unknown(f"option of {request.spec}", strange[0], OPTIONS)
    frames = dict(map(read_frame, list_frames() if names == EVERY else names.split("+")))
    n = request.n or DEFAULT
    items = tuple(islice(_in_turn(frames, request.seed), (n + 1) // 2))
    rows = request.first_rows(min(2 * len(items), n))
    set_to = dict.fromkeys(options, True)
    return MinimalPairs(request.spec, ALL, request.seed, rows, frames, items, **set_to)


def _in_turn(frames: dict[str, Frame], seed: int) -> Iterator[Item]:
    rounds = zip_longest(*(draw_items(name, frame, seed) for name, frame in frames.items()))
    return (item for items in rounds for item in items if item is not None)


def find_pairs(spec: str, n: int | None, seed: int, default: int) -> MinimalPairs:
    """The pairs of a name, asked; without n the first ``default`` texts of them."""
    if not is_pairs(spec):
        raise InputError(f"{spec}: give pairs:FRAME, of {', '.join(list_frames())}")
    pairs = replace(draw_pairs(Request(spec, None, n, seed, 0)), asked=True)
    return pairs if n else replace(pairs, rows=pairs.rows[:default])


def pair_of_text(
    text: str, words: Sequence[str], answers: Sequence[str] = ("", "")
) -> MinimalPairs:
    """The one item of a text and of the other text, in which two of its words have changed places.

    Args:
        text: What a model reads, open at its end.
        words: Two words of it; the first place of each counts.
        answers: The word expected next, and the one expected next in the other text; default: the model's answers.

    Returns:
        Minimal pairs with one item, for :func:`measure_pairs`.

    Raises:
        InputError: A word is not in the text, or there are not two words or not two answers.

    Examples:
        >>> item = tp.interventions.pair_of_text("Ann paid Bob. The one who paid is", ["Ann", "Bob"])
        >>> [example.source for example in item]
        ['Ann paid Bob. The one who paid is', 'Bob paid Ann. The one who paid is']
    """
    if len(words) != 2 or len(answers) != 2:
        raise InputError(f"words {[*words]}, answers {[*answers]}: give two words and two answers")
    pattern, lists = text, {}
    for slot, word in zip(EXCHANGED, words, strict=True):
        place = rf"(?<![\w{{]){re.escape(word)}(?![\w}}])"
        pattern, n = re.subn(place, f"{{{slot}}}", pattern, count=1)
        if not n:
            raise InputError(f"no word {word!r} in {text!r}: give words of the text")
        lists[slot] = {"words": word}
    answer, other_answer = answers
    patterns = [{"text": pattern, "answer": answer, "other": other_answer}]
    slots = {slot: slot for slot in EXCHANGED}
    content = {"says": text, "slots": slots, "patterns": patterns, "words": lists}
    frame = parse(Frame, content, "text")
    items = tuple(draw_items(TYPED, frame, 0))
    return MinimalPairs(f"text: {text}", ALL, 0, range(2), {TYPED: frame}, items, asked=True)
