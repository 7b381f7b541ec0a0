"""One text instead of a data set: a model's roles and attention while it reads and writes."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tprprobe.data.dataset import Dataset
from tprprobe.data.mathematics.questions import Question
from tprprobe.errors import InputError
from tprprobe.extraction.blocks import extract
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import select
from tprprobe.store import Store

SITES = ("*.role", "*.attention")
LONGEST = 4000  # characters


@dataclass(frozen=True)
class OneText(Dataset[Any]):
    """A text without an answer."""

    text: str

    def read(self, rows: range) -> Iterator[Any]:
        return (Question(self.text, "", "asked") for _ in rows)


def extract_text(model: Model, text: str, out: str | os.PathLike[str]) -> Store:
    """The store of a text: its roles and attention, and the answer that the model wrote.

    Raises:
        InputError: an empty or too long text, or one that the vocabulary cannot say.
    """
    text = " ".join(text.split())
    if not text or len(text) > LONGEST:
        raise InputError(f"a text of {len(text)} characters: give 1 to {LONGEST}")
    data = OneText("asked", "asked", 0, range(1), text)
    names = [name for name in SITES if _has(model, name)]
    return extract(model, data, names or None, out, 1, "generated", control=False)


def _has(model: Model, pattern: str) -> bool:
    try:
        return bool(select(pattern, list(find_sites(model))))
    except InputError:
        return False
