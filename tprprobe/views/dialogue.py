"""Live questions: a text is put to a model, and the vectors of its sites become a store like any
other.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from tprprobe.data.dataset import Dataset
from tprprobe.data.mathematics.questions import Question
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.models import load_model
from tprprobe.models.protocol import CaptionModel, Model, require_model, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import select
from tprprobe.store import Store

SITES = ("*.role", "*.attention")
LONGEST = 4000  # characters


@dataclass(frozen=True)
class Asked(Dataset[Any]):
    """A text without an answer."""

    text: str

    def read(self, rows: range) -> Iterator[Any]:
        return (self.example for _ in rows)

    @property
    def example(self) -> Any:
        return Question(self.text, "", "asked")


@dataclass(frozen=True)
class Answer:
    """A model's answer, and the store of its vectors, which lives as long as this object."""

    text: str
    store: Store
    folder: TemporaryDirectory


def load_asked(name: str | os.PathLike[str]) -> Model:
    """The model of a checkpoint, by folder or name.

    Raises:
        InputError: it is none, or it cannot read or write text.
    """
    model = require_model(load_model(name), "which writes no answers")
    if isinstance(model, CaptionModel):
        raise InputError(f"{model.name} writes captions of images: a text cannot be put to it")
    require_vocabulary(model)
    return model


def ask(model: Model, text: str) -> Answer:
    """The model's answer to a text, with its roles and attention.

    Raises:
        InputError: an empty or too long text, or one that the vocabulary cannot say.
    """
    text = " ".join(text.split())
    if not text or len(text) > LONGEST:
        raise InputError(f"a text of {len(text)} characters: give 1 to {LONGEST}")
    folder = TemporaryDirectory(prefix="tprprobe-ask-")
    data = Asked("asked", "asked", 0, range(1), text)
    names = [name for name in SITES if _has(model, name)]
    out = Path(folder.name) / "store"
    store = extract(model, data, names or None, out, 1, "generated", control=False)
    return Answer(_written(store.tokens), store, folder)


def _has(model: Model, pattern: str) -> bool:
    try:
        return bool(select(pattern, list(find_sites(model))))
    except InputError:
        return False


def _written(tokens: pd.DataFrame) -> str:
    return str(tokens["prediction"].iloc[0]) if "prediction" in tokens else ""
