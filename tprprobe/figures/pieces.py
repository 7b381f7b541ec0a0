"""Tokens of sub-words as readers know them: `Ġthe` and `▁the` are ` the`, `##ing` is `-ing`."""

from collections.abc import Iterable

PIECE, SPACE = "##", "▁"  # before a piece that goes on a word, and before one that begins it
PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that stand for themselves
OTHERS = [each for each in range(256) if each not in PRINTED]
BYTES = {chr(n): n for n in PRINTED} | {chr(256 + i): n for i, n in enumerate(OTHERS)}


def spell(token: object) -> str:
    """A token as text; bytes stand for characters as in GPT-2, and what is no text in these is left as it is."""
    text = str(token).replace(SPACE, " ")
    if text.startswith(PIECE) and len(text) > len(PIECE):
        return f"-{text[len(PIECE) :]}"
    try:
        return bytes(BYTES[each] for each in text).decode()
    except (KeyError, UnicodeDecodeError):
        return text


def join(tokens: Iterable[object]) -> str:
    """The text of tokens that follow one another, such as those of a word."""
    return spell("".join(str(each).removeprefix(PIECE) for each in tokens)).strip()
