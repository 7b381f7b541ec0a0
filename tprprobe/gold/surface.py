"""The text of a sentence, spelled from the tokens of a treebank by the rules of CoNLL-U.

A token is a line of several words (``3-4 au``) or a word by itself. A blank follows it unless MISC has
``SpaceAfter=No``; ``SpacesAfter``, ``SpacesBefore`` and ``SpacesInToken`` spell other blanks.

Source: https://universaldependencies.org/format.html; the last three as UDPipe writes them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tprprobe.gold.labels import Span, is_made_of, place_words

ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)")
BLANKS = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|"}


class SurfaceToken(NamedTuple):
    """A token as it is written: its form, the words that it is made of, and its column MISC."""

    form: str
    words: list[str]
    misc: str = "_"


class Surface(NamedTuple):
    """A sentence's text, and the place of every word in it."""

    text: str
    places: tuple[Span, ...]


def spell_text(tokens: Sequence[SurfaceToken]) -> str:
    fragments = []
    for token in tokens:
        pairs = (feature.split("=", 1) for feature in token.misc.split("|") if "=" in feature)
        features = dict(pairs)
        fragments.append(_unescape(features.get("SpacesBefore", "")))
        fragments.append(_unescape(features.get("SpacesInToken", "")) or token.form)
        is_spaced = features.get("SpaceAfter") != "No"
        fragments.append(_unescape(features.get("SpacesAfter", r"\s")) if is_spaced else "")
    return "".join(fragments).strip()


def _unescape(blanks: str) -> str:
    return ESCAPED.sub(
        lambda match: (
            chr(int(match[1][1:], 16)) if match[1][1:] else BLANKS.get(match[1], match[1])
        ),
        blanks,
    )


def is_text_of(text: str | None, tokens: Sequence[SurfaceToken]) -> bool:
    return text is not None and is_made_of(text, [token.form for token in tokens])


def find_surface(text: str | None, tokens: Sequence[SurfaceToken]) -> Surface:
    """The text and where its words stand: *do* and *n't* one after another, *à* and *le* both at *au*."""
    if text is None or not is_text_of(text, tokens):
        text = spell_text(tokens)
    places: list[Span] = []
    token_spans = place_words(text, [token.form for token in tokens])
    for token, (start, end) in zip(tokens, token_spans, strict=True):
        token_text = text[start:end]
        if is_made_of(token_text, token.words):
            places += [(start + a, start + b) for a, b in place_words(token_text, token.words)]
        else:
            places += [(start, end)] * len(token.words)
    return Surface(text, tuple(places))
