"""Labels of words: targets over half-open spans, and how they lie in the token table of a store.

The token table has a column ``word``, the number of the word that a token belongs to in its sample
and on its side (−1: to none), and a column for every task. A word's cell, the same on all its
tokens, lists the targets whose first span begins with that word, with a blank between two:
``NN`` (of this word), ``PER[4,6)`` (of words 4 and 5), ``nsubj[0,1)[2,3)`` (of a pair of spans).
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tprprobe.errors import InputError

Span = tuple[int, int]  # half open, in words
WORD = "word"
_CELL = re.compile(r"(\S+?)(\[\d{1,9},\d{1,9}\))?(\[\d{1,9},\d{1,9}\))?(?!\S)")


class Target(NamedTuple):
    """A label of a span of words, or of a pair of spans."""

    label: str
    span1: Span
    span2: Span | None = None


@dataclass(frozen=True)
class Labelled:
    """A sentence and its targets by task; ``document`` is what it is part of, or its own name."""

    name: str
    document: str
    words: tuple[str, ...]
    text: str
    targets: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)

    @property
    def offsets(self) -> list[Span]:
        """The start and end of each word in the text, in characters."""
        return place_words(self.text, self.words)


def place_words(text: str, words: Sequence[str]) -> list[Span]:
    """The start and end of each word in the text; between words only blanks are allowed."""
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            raise InputError(f"the text {text[:60]!r}… does not go on with the word {word!r}")
        end = start + len(word)
        places.append((start, end))
    return places


def is_made_of(text: str, words: Sequence[str]) -> bool:
    return "".join(text.split()) == "".join("".join(words).split())


def check_target(target: Target, n_words: int) -> None:
    """Checks that the spans lie within the sentence and that the label fits in a cell."""
    for span in (target.span1, target.span2):
        if span is not None and not 0 <= span[0] < span[1] <= n_words:
            raise InputError(
                f"span [{span[0]}, {span[1]}) in a sentence of {n_words} words: spans are half "
                "open and count from 0"
            )
    _check_label(target.label)


@functools.cache
def _check_label(label: str) -> None:
    if label.split() != [label] or decode_cell(label, 0) != [Target(label, (0, 1))]:
        raise InputError(f"label {label!r}: a label has no blanks and does not end in a span")


def encode_cells(targets: Iterable[Target], n_words: int) -> list[str]:
    cells: list[list[str]] = [[] for _ in range(n_words)]
    for label, span1, span2 in targets:
        first, last = span1
        spans = [span1, span2] if span2 else [span1] if last > first + 1 else []
        cells[first].append(label + "".join(f"[{start},{end})" for start, end in spans))
    return [" ".join(cell) for cell in cells]


def decode_cell(cell: str, word: int) -> list[Target]:
    targets = []
    for label, *spans in _CELL.findall(cell):
        ends = [text[1:-1].split(",") for text in spans]
        span1, span2 = ((int(each[0]), int(each[1])) if each[1:] else None for each in ends)
        targets.append(Target(label, span1 or (word, word + 1), span2))
    return targets


def words_of_tokens(words: Sequence[Span], tokens: Sequence[Span]) -> list[int]:
    """For every token the number of the first word that shares a character with it, −1 if none does."""
    numbers, word = [], 0
    for start, end in tokens:
        while word < len(words) and words[word][1] <= start:
            word += 1
        shared = word < len(words) and words[word][0] < end and start < end
        numbers.append(word if shared else -1)
    return numbers


def token_columns(sentence: Labelled, tokens: Sequence[Span]) -> dict[str, list[Any]]:
    """The columns ``word`` and one per task, for tokens at these places of the sentence's text."""
    numbers = words_of_tokens(sentence.offsets, tokens)
    columns: dict[str, list[Any]] = {WORD: numbers}
    for task, targets in sentence.targets.items():
        cells = [*encode_cells(targets, len(sentence.words)), ""]
        columns[task] = [cells[number] for number in numbers]
    return columns
