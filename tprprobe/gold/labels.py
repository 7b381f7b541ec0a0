"""Labels of words: targets over half-open spans, and how they lie in the token table of a store.

The token table has a column ``word``, the number of the word that a token belongs to in its sample
and on its side (−1: to none), and a column for every task. A word's cell, the same on all
tokens that no other word shares, lists the targets whose first span begins with that word, with a blank between two:
``NN`` (of this word), ``PER[4,6)`` (of words 4 and 5), ``nsubj[0,1)[2,3)`` (of a pair of spans).

A token belongs to the first word that it shares a character with. A word without such a token shares
the tokens that it has characters in: ``last_word`` numbers the last word of a token, and the cell lists
the targets of all of them, ``ADP DET[4,5)`` for *au*, which is *à* and *le*.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tprprobe.errors import InputError

Span = tuple[int, int]  # half open, in words
WORD, LAST_WORD = "word", "last_word"
TOTALS = ("tokens", "words", "texts_cut", "tokens_without_word")  # counts that are of no task
WITHOUT_TOKEN = "_without_token"  # ends the name of what is counted among words and targets
PLAIN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # words of a text that nobody annotated
_CELL = re.compile(r"(\S+?)(\[\d{1,9},\d{1,9}\))?(\[\d{1,9},\d{1,9}\))?(?!\S)")


class Target(NamedTuple):
    """A label of a span of words, or of a pair of spans."""

    label: str
    span1: Span
    span2: Span | None = None


@dataclass(frozen=True)
class Labelled:
    """A sentence and its targets by task; ``places`` are of words that the text does not spell one after another."""

    name: str
    document: str
    words: tuple[str, ...]
    text: str
    targets: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    places: tuple[Span, ...] = ()

    @property
    def offsets(self) -> Sequence[Span]:
        return self.places or place_words(self.text, self.words)


class Reading(NamedTuple):
    """What a file holds: its sentences, and how often it has what is passed over or read in another way."""

    sentences: list[Labelled]
    odd: Counter[str]


def place_words(text: str, words: Sequence[str]) -> list[Span]:
    """The start and end of each word in the text, where blanks of any kind may stand in and between words."""
    places, end = [], 0
    for word in words:
        start = _skip_blanks(text, end) if word.strip() else end
        if text.startswith(word, start):
            end = start + len(word.rstrip())
        else:  # its blanks are others than the text's
            end = start
            for char in "".join(word.split()):
                end = _skip_blanks(text, end) + 1
                if text[end - 1 : end] != char:
                    raise InputError(f"the text {text[:60]!r}… does not go on with {word!r}")
        places.append((start, end))
    return places


def _skip_blanks(text: str, start: int) -> int:
    while text[start : start + 1].isspace():
        start += 1
    return start


def is_made_of(text: str, words: Sequence[str]) -> bool:
    return "".join(text.split()) == "".join("".join(words).split())


def check_target(target: Target, n_words: int) -> None:
    """Checks that the spans lie within the sentence and that the label fits in a cell."""
    for span in (target.span1, target.span2):
        if span is not None and not 0 <= span[0] < span[1] <= n_words:
            place = f"span [{span[0]}, {span[1]}) in a sentence of {n_words} words"
            raise InputError(f"{place}: spans are half open and count from 0")
    _check_label(target.label)


@functools.cache
def _check_label(label: str) -> None:
    if label.split() != [label] or decode_cell(label, 0) != [Target(label, (0, 1))]:
        raise InputError(
            f"label {label!r}: a label is not empty, has no blanks and does not end in a span"
        )


def encode_shared(
    targets: Iterable[Target], n_words: int, ranges: Iterable[Span]
) -> dict[Span, str]:
    """The cells of ranges of words (first, last) that share tokens; −1 is no word."""
    by_word: list[list[Target]] = [[] for _ in range(n_words)]
    for target in targets:
        by_word[target.span1[0]].append(target)
    return {
        (start, end): " ".join(
            _encode(target, start)
            for word in range(max(start, 0), end + 1)
            for target in by_word[word]
        )
        for start, end in ranges
    }


def _encode(target: Target, word: int) -> str:
    label, span1, span2 = target
    spans = [span1, span2] if span2 else [span1] if span1 != (word, word + 1) else []
    return label + "".join(f"[{start},{end})" for start, end in spans)


def decode_cell(cell: str, word: int) -> list[Target]:
    targets = []
    for label, *spans in _CELL.findall(cell):
        ends = [text[1:-1].split(",") for text in spans]
        span1, span2 = ((int(end[0]), int(end[1])) if end[1:] else None for end in ends)
        targets.append(Target(label, span1 or (word, word + 1), span2))
    return targets


def words_of_tokens(words: Sequence[Span], tokens: Sequence[Span]) -> list[int]:
    """For every token the number of the first word that shares a character with it, −1 if none does; its own if tokens are words."""
    if [*tokens] == [*words[: len(tokens)]]:
        return [*range(len(tokens))]  # several may have one place, such as the two of “im”
    numbers, word = [], 0
    for start, end in tokens:
        while word < len(words) and words[word][1] <= max(start, words[word][0]):
            word += 1
        shared = word < len(words) and words[word][0] < end and start < end
        numbers.append(word if shared else -1)
    return numbers


def share_tokens(
    words: Sequence[Span], tokens: Sequence[Span], numbers: Sequence[int]
) -> list[int]:
    """For every token the last word that it belongs to; ``numbers`` are the first ones.

    It is another than the first where words after it have characters in the token, and no token else.
    """
    lasts, owned = [*numbers], {*numbers}
    for token, ((start, end), number) in enumerate(zip(tokens, numbers, strict=True)):
        word = number + 1
        while (
            0 < word < len(words)
            and word not in owned
            and max(start, words[word][0]) < min(end, words[word][1])
        ):
            lasts[token] = word
            word += 1
    return lasts


def token_columns(sentence: Labelled, tokens: Sequence[Span]) -> dict[str, list[Any]]:
    """The columns ``word``, ``last_word`` and one per task, for tokens at these places of the sentence's text."""
    numbers = words_of_tokens(sentence.offsets, tokens)
    lasts = share_tokens(sentence.offsets, tokens, numbers)
    columns: dict[str, list[Any]] = {WORD: numbers, LAST_WORD: lasts}
    ranges = [*zip(numbers, lasts, strict=True)]
    for task, targets in sentence.targets.items():
        cells = encode_shared(targets, len(sentence.words), {*ranges})
        columns[task] = [cells[word_range] for word_range in ranges]
    return columns


def count_aligned(sentence: Labelled, columns: Mapping[str, Sequence[Any]]) -> Counter[str]:
    """How many words and targets of every task there are, and how many of each have no token."""
    ranges = {*zip(columns[WORD], columns[LAST_WORD], strict=True)}
    missing = {*range(len(sentence.words))}
    missing -= {word for start, end in ranges for word in range(start, end + 1)}
    counts = Counter({"words": len(sentence.words), f"words{WITHOUT_TOKEN}": len(missing)})
    for task, targets in sentence.targets.items():
        counts[task] += len(targets)
        spans = ([span for span in target[1:] if span] for target in targets)
        lost = sum(any({a, b - 1} & missing for a, b in pair) for pair in spans) if missing else 0
        counts[f"{task}{WITHOUT_TOKEN}"] += lost
    return counts


def list_tasks(names: Iterable[str]) -> list[str]:
    """The tasks among the names of counts."""
    return [n for n in names if n not in TOTALS and not n.endswith(WITHOUT_TOKEN)]


def report_counts(counts: Mapping[str, int], side: str) -> str:
    """The line that reports the counts of a side: what there is, and what is cut or left out."""
    of_side = {name.partition(".")[::2]: n for name, n in counts.items()}
    totals = Counter({name: n for (owner, name), n in of_side.items() if owner == side})
    tasks = list_tasks(totals)
    targets = ", ".join(f"{task} {totals[task]:,}" for task in tasks)
    totals_text = f"{totals['tokens']:,} tokens, {totals['words']:,} words"
    clauses = [f"{totals_text}; {f'targets: {targets}' if targets else 'no labels of words'}"]
    if n := totals["texts_cut"]:
        advice = " (`tprprobe extract --pack` divides them)" if side == "source" else ""
        clauses.append(f"{n:,} texts are too long and cut{advice}")
    if n := totals[f"words{WITHOUT_TOKEN}"]:
        lost = {task: totals[task + WITHOUT_TOKEN] for task in tasks}
        dropped = [f"{n_lost:,} targets of {task}" for task, n_lost in lost.items() if n_lost]
        clauses.append(
            f"left out {n:,} words that have no token, and {', '.join(dropped) or 'no targets'} with them"
        )
    return f"{side}: {'; '.join(clauses)}"
