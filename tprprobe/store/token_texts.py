"""Tokens as readers know them (`Ġthe` and `▁the` are ` the`; `##ing` stays, unlike a hyphen), safe to show in one line."""

import re
import unicodedata
from collections.abc import Iterable

CONTINUATION, SPACE = "##", "▁"  # before a piece that goes on a word, and before one that begins it
PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that stand for themselves
UNPRINTED = [byte for byte in range(256) if byte not in PRINTED]
BYTES = {chr(n): n for n in PRINTED} | {chr(256 + i): n for i, n in enumerate(UNPRINTED)}
LONGEST = 24
SIGNS = {"": "∅", " ": "␣", "\n": "↵", "\t": "⇥"}
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")
SPECIAL = re.compile(r"\[[A-Z]+\d*\]|<\|?/?\w+\|?>")  # tokens that no text holds
JOINERS = "\u200d\ufe0f"  # inside emoji


def spell(token: object) -> str:
    """A token as text; bytes stand for characters as in GPT-2, and what is no text in these is left as it is."""
    text = str(token).replace(SPACE, " ")
    try:
        return bytes(BYTES[char] for char in text).decode()
    except (KeyError, UnicodeDecodeError):
        return text


def is_special(token: object) -> bool:
    return bool(SPECIAL.fullmatch(str(token)))


def join(tokens: Iterable[object]) -> str:
    """The text of tokens that follow one another, such as those of a word."""
    return spell("".join(str(token).removeprefix(CONTINUATION) for token in tokens)).strip()


def sign(token: object) -> str:
    """The label of a token wherever one is drawn; tables keep tokens as they are."""
    return visible(spell(token))


def visible(text: object, longest: int = LONGEST) -> str:
    """The text with a visible sign for each character that cannot be seen or would turn other text around."""
    text = str(text)
    if text in SIGNS:
        return SIGNS[text]
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(map(_sign, short))


def _sign(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in HIDDEN:
        return character
    return SIGNS.get(character, f"‹{ord(character):04X}›")


def quote_sign(token: str) -> str:
    """The token, in quotation marks if it has neither letter nor digit."""
    return token if any(map(str.isalnum, token)) else f"‘{token}’"
