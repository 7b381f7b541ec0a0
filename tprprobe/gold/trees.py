"""What a treebank's sentences must obey: heads that make a tree, words that can be seen, a text of these words."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.gold.labels import is_made_of

SEEN = "LMNPS"  # first letters of the Unicode categories that print something
BOM = "\ufeff"
ROOTS, OTHER_TEXT, MARKED = "several roots", "a text of other words", "a byte order mark"


def check_word(form: str) -> None:
    """Checks that a word has a character that can be seen."""
    if not any(unicodedata.category(char)[0] in SEEN for char in form):
        raise InputError(f"word {form!r} has no visible character")


def check_heads(heads: Sequence[int]) -> None:
    """Checks that every word hangs, head by head, from a root; heads count from 1, a root's is 0."""
    clear = {0}
    for word in range(1, len(heads) + 1):
        path = [word]
        while path[-1] not in clear:
            head = heads[path[-1] - 1]
            if head in path:
                said = "its own head" if head == path[-1] else f"below itself (head {head})"
                raise InputError(
                    f"word {path[-1]} is {said}: heads must lead to a root, which has 0"
                )
            path.append(head)
        clear.update(path)


def oddities(
    heads: Sequence[int], text: str | None, forms: Sequence[str], spelled: Sequence[str]
) -> list[str]:
    """What is odd about a sentence and changes nothing: ``spelled`` are its words as its text has them."""
    odd = [ROOTS] if heads.count(0) > 1 else []
    made = text is None or is_made_of(text, forms) or is_made_of(text, spelled)
    return odd if made else [*odd, OTHER_TEXT]


def spell(forms: Sequence[str], joined: Mapping[tuple[int, int], str]) -> list[str]:
    """The words as a text has them: multi-word tokens, from their first word to their last, in one."""
    spelled, word = [], 1
    lasts = {first: (last, form) for (first, last), form in joined.items()}
    while word <= len(forms):
        last, form = lasts.get(word, (word, forms[word - 1]))
        spelled.append(form)
        word = max(last, word) + 1
    return spelled


def note_oddities(path: Path, counts: Counter[str], sentences: int) -> None:
    """Says in one line what is odd about a file, if anything is."""
    if counts:
        told = ", ".join(f"{count} with {what}" for what, count in sorted(counts.items()))
        note(f"{path}: of {sentences} sentences {told}")
