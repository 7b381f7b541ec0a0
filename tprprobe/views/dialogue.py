"""Live questions: what a model answers, and the store of what its sites held meanwhile."""

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tprprobe.extraction.texts import extract_text
from tprprobe.models import load_model
from tprprobe.models.protocol import Model, require_model, require_vocabulary
from tprprobe.store import Store


@dataclass(frozen=True)
class Answer:
    """A model's answer, and the store of its vectors, which lives as long as this object."""

    store: Store
    folder: TemporaryDirectory

    @property
    def text(self) -> str:
        """The written answer, empty where the model writes none."""
        tokens = self.store.tokens
        return str(tokens["prediction"].iloc[0]) if "prediction" in tokens else ""


def load_asked(name: str | os.PathLike[str]) -> Model:
    """The model of a checkpoint, by folder or name.

    Raises:
        InputError: it is none, or it cannot write text.
    """
    model = require_model(load_model(name), "which writes no answers")
    require_vocabulary(model)
    return model


def ask(model: Model, text: str) -> Answer:
    """The model's answer to a text, with its roles and attention.

    Raises:
        InputError: an empty or too long text, or one that the vocabulary cannot say.
    """
    folder = TemporaryDirectory(prefix="tprprobe-ask-")
    return Answer(extract_text(model, text, Path(folder.name) / "store"), folder)
