"""A frame: sentences with slots, lists of words for them, and the items that fill them.

The words of slots ``a`` and ``b`` change places in an item's other text, everywhere in the form in which they first stand; further
forms stay. ``{slot.form}`` is a form of a slot's word, ``{slot}`` its first; labels are of a slot, or of ``slot.form``.
"""

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from tprprobe.errors import InputError, unknown
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.gold.labels import Labelled, Span, Target

FOLDER, LISTS, SUFFIX = Path(__file__).parent, "words", ".toml"
EXCHANGED = ("a", "b")
SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
PLACE, MAX_DRAWN = "place", 2**20  # the task of order in the text, and items from which are drawn


SlotWords = Mapping[str, Mapping[str, str]]  # for every slot a word, by form


class Words(Settings, strict=True):
    """A list of words, between commas the forms of one; ``task`` is what the forms label, if anything."""

    words: str
    forms: str = "word"
    task: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Words":
        names = self.forms.split()
        for forms in self.words.split(","):
            if len(forms.split()) != len(names):
                raise ValueError(f"{' '.join(forms.split())!r}: give {self.forms}, then a comma")
        return self

    @cached_property
    def entries(self) -> list[dict[str, str]]:
        names = self.forms.split()
        return [dict(zip(names, forms.split(), strict=True)) for forms in self.words.split(",")]


class Pattern(Settings, strict=True):
    """A text, what is asked after it (the text may be open itself), the answer and that of the other text."""

    text: str
    answer: str
    other: str
    ask: str = ""


class Frame(Settings, strict=True):
    """Patterns, the lists that their slots draw from, and labels of slots by task."""

    says: str
    slots: dict[str, str]
    patterns: list[Pattern] = Field(min_length=1)
    labels: dict[str, dict[str, str]] = Field(default_factory=dict)
    words: dict[str, Words] = Field(default_factory=dict)


@dataclass(frozen=True)
class Filled:
    """A word in a slot of a text (``key``: the slot as it is written there), its form, and where it stands."""

    slot: str
    key: str
    form: str
    word: str
    span: Span
    task: str | None  # that the form labels


@dataclass(frozen=True)
class Text:
    text: str
    ask: str
    answer: str
    filled: tuple[Filled, ...]

    @property
    def whole(self) -> str:
        return f"{self.text} {self.ask}" if self.ask else self.text

    @property
    def exchanged(self) -> tuple[Filled, Filled]:
        """The two words where they first stand."""
        word_a, word_b = (next(w for w in self.filled if w.slot == slot) for slot in EXCHANGED)
        return word_a, word_b

    @property
    def moved(self) -> list[Filled]:
        """The two words wherever they stand."""
        kinds = [(word.slot, word.form) for word in self.exchanged]
        return [word for word in self.filled if (word.slot, word.form) in kinds]


@dataclass(frozen=True)
class Item:
    """A text, and the other one, in which two words have changed places."""

    name: str
    frame: str
    text: Text
    other: Text


def read_frame(name: str) -> tuple[str, Frame]:
    """The frame of a name or of a user's TOML file, with the lists of words that its slots name."""
    path, where = FOLDER / f"{name}{SUFFIX}", name
    if name.endswith(SUFFIX):
        path, where, name = Path(name), Path(name).name, Path(name).stem
    elif name not in list_frames():
        raise unknown("frame", name, [*list_frames(), "FILE.toml"])
    frame = parse(Frame, read_toml(path), where)
    shipped = read_toml(FOLDER / f"{LISTS}{SUFFIX}")
    lists = {key: parse(Words, value, LISTS) for key, value in shipped.items()} | frame.words
    if strange := [key for key in frame.slots.values() if key not in lists]:
        raise unknown(f"list of words of frame {name}", strange[0], lists)
    frame = frame.model_copy(update={"words": lists})
    for pattern in frame.patterns:
        templates = (pattern.text, pattern.ask, pattern.answer, pattern.other)
        slots = (match.groups() for template in templates for match in SLOT.finditer(template))
        for slot, form in slots:
            if slot not in frame.slots:
                raise unknown(f"slot of frame {name}", slot, frame.slots)
            forms = frame.words[frame.slots[slot]].forms.split()
            if form is not None and form not in forms:
                raise unknown(f"form of {frame.slots[slot]} in frame {name}", form, forms)
        if missing := {*EXCHANGED} - {match[1] for match in SLOT.finditer(pattern.text)}:
            raise InputError(f"frame {name}: {pattern.text!r} has no slot {{{min(missing)}}}")
    return name, frame


def list_frames() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob(f"*{SUFFIX}") if p.stem != LISTS)


def draw_items(name: str, frame: Frame, seed: int) -> Iterator[Item]:
    """All items of a frame in a random order, which the seed decides; no text comes in two items."""
    lists = [frame.words[key].entries for key in frame.slots.values()]
    sizes = (len(frame.patterns), *map(len, lists))
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    total, texts, number = math.prod(sizes), set(), 0
    order = rng.permutation(total) if total <= MAX_DRAWN else rng.integers(total, size=MAX_DRAWN)
    for index in order:
        pattern_index, *word_indices = map(int, np.unravel_index(index, sizes))
        if len({*zip(frame.slots.values(), word_indices, strict=True)}) < len(word_indices):
            continue  # a word twice
        entries = [listed[i] for listed, i in zip(lists, word_indices, strict=True)]
        words = dict(zip(frame.slots, entries, strict=True))
        pattern = frame.patterns[pattern_index]
        filled = [_choose(frame, match, words) for match in SLOT.finditer(pattern.text)]
        text = _place(frame, pattern, pattern.answer, filled, words)
        word_a, word_b = text.exchanged  # which change places with their forms
        rivals = {word_a.slot: word_b, word_b.slot: word_a}
        exchanged = [rivals[w.slot] if w in text.moved else w for w in text.filled]
        pairs = zip(text.filled, exchanged, strict=True)
        swapped = [replace(w, word=v.word, form=v.form, task=v.task) for w, v in pairs]
        other_text = _place(frame, pattern, pattern.other, swapped, words)
        if text.text not in texts and other_text.text not in texts:
            texts |= {text.text, other_text.text}
            number += 1
            yield Item(f"{name} {number}", name, text, other_text)


def _choose(frame: Frame, match: re.Match, words: SlotWords) -> Filled:
    slot, form = match[1], match[2] or next(iter(words[match[1]]))
    task = frame.words[frame.slots[slot]].task
    return Filled(slot, match[0][1:-1], form, words[slot][form], (0, 0), task)


def _place(
    frame: Frame, pattern: Pattern, answer: str, filled_slots: list[Filled], words: SlotWords
) -> Text:
    text, words_in_text, end = "", [], 0
    for match, filled in zip(SLOT.finditer(pattern.text), filled_slots, strict=True):
        text += pattern.text[end : match.start()]
        words_in_text.append(replace(filled, span=(len(text), len(text) + len(filled.word))))
        text, end = text + filled.word, match.end()
    text += pattern.text[end:]
    ask, answer_text = (
        SLOT.sub(lambda m: _choose(frame, m, words).word, template)
        for template in (pattern.ask, answer)
    )
    return Text(text, ask, answer_text, tuple(words_in_text))


def label_text(frame: Frame, name: str, document: str, text: Text, with_question: bool) -> Labelled:
    full_text = text.whole if with_question else text.text
    places = [match.span() for match in WORD.finditer(full_text)]
    targets: dict[str, list[Target]] = {task: [] for task in find_tasks(frame)}
    order = 0
    for filled in text.filled:
        word_index = places.index(filled.span)
        labels = {} if filled.task is None else {filled.task: filled.form}
        for task, names in frame.labels.items():
            if label := names.get(filled.key, names.get(filled.slot)):
                labels[task] = label.replace(" ", "-")
        if {*labels} & {*frame.labels}:
            order += 1
            labels[PLACE] = str(order)
        for task, label in labels.items():
            targets[task].append(Target(label, (word_index, word_index + 1)))
    words = tuple(full_text[start:end] for start, end in places)
    return Labelled(name, document, words, full_text, {k: tuple(v) for k, v in targets.items()})


def find_tasks(frame: Frame) -> list[str]:
    forms = [frame.words[key].task for key in frame.slots.values()]
    return [*dict.fromkeys([PLACE, *frame.labels, *filter(None, forms)])]
