"""Sentences with their labels, and the text that is made of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Span = tuple[int, int]  # half open, in words

TIGHT = (".", ",", "'s")  # no space before
OPENING = "$"  # no space after


class Word(NamedTuple):
    """A word; `head` counts words from 1 as CoNLL-U does, 0 for the root."""

    form: str
    xpos: str
    head: int
    deprel: str


class Argument(NamedTuple):
    """A span that plays a role."""

    span: Span
    role: str


class Frame(NamedTuple):
    """A predicate and its arguments, in the order of the sentence."""

    predicate: Span
    roleset: str
    arguments: tuple[Argument, ...]


class Entity(NamedTuple):
    """A span that names something of a type."""

    span: Span
    label: str


@dataclass(frozen=True)
class Sentence:
    """A sentence with its parts of speech, dependencies, frames and entities."""

    words: tuple[Word, ...]
    frames: tuple[Frame, ...]
    entities: tuple[Entity, ...]

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(word.form for word in self.words)

    @cached_property
    def text(self) -> str:
        return detokenize(self.forms)

    @cached_property
    def offsets(self) -> tuple[Span, ...]:
        """The start and end of each word in `text`, in characters."""
        return place(self.forms)


def place(forms: tuple[str, ...]) -> tuple[Span, ...]:
    """The start and end of each word in the text of these words."""
    offsets, end, before = [], 0, OPENING
    for form in forms:
        start = end if form in TIGHT or before == OPENING else end + 1
        end = start + len(form)
        offsets.append((start, end))
        before = form
    return tuple(offsets)


def detokenize(forms: tuple[str, ...]) -> str:
    """The text: words with spaces between them, but none before `. , 's` and none after `$`."""
    text, end = [], 0
    for form, (start, stop) in zip(forms, place(forms), strict=True):
        text.append(" " * (start - end) + form)
        end = stop
    return "".join(text)


def tokenize(text: str) -> tuple[str, ...]:
    """The words of a text: `tokenize(detokenize(forms)) == forms`."""
    for mark in TIGHT[:2]:
        text = text.replace(mark, f" {mark}")
    return tuple(text.replace("'s", " 's").replace(OPENING, f"{OPENING} ").split())
