"""Live questions: what a model is asked and answers, and the store of what its sites held meanwhile."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from tprprobe.data import load_data
from tprprobe.data.mathematics.questions import Question
from tprprobe.data.pairs import encode_examples
from tprprobe.errors import InputError
from tprprobe.extraction.single_examples import extract_one
from tprprobe.gold import evaluate
from tprprobe.interventions.batched_edits import score_variants
from tprprobe.models import load_model
from tprprobe.models.checkpoint import default_data
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import CaptionModel, Model, require_model, require_vocabulary
from tprprobe.site.hooks import PlacedEdit, intervene
from tprprobe.store import Store

Edits = Mapping[str, PlacedEdit]
LONGEST = 4000  # characters
LEAST = 1e-38  # probability that a float32 tells from none


@dataclass(frozen=True, eq=False)
class Posed:
    """What a model was asked: the example and its ids (or features), the tokens that edits are of (of an image the
    words of the caption), and the ids of the answer that it writes, start symbol first.
    """

    model: Model
    text: str
    example: Any
    source: Shaped[Tensor, "1 source"]
    tokens: tuple[str, ...]
    answer: Int[Tensor, "1 target_seq"]
    was_cut: bool = False

    @property
    def is_image(self) -> bool:
        return isinstance(self.model, CaptionModel)

    @property
    def told(self) -> str:
        """The answer as text."""
        return self.say(self.answer)

    @property
    def side(self) -> str:
        """The side that the tokens are of."""
        return "target" if self.is_image else "source"

    def say(self, ids: Tensor) -> str:
        return require_vocabulary(self.model).decode(ids[0].tolist())

    def write(self, source: Tensor, edits: Edits) -> Int[Tensor, "1 target_seq"]:
        """The answer under edits, start symbol first; of an image its caption word by word, each after the own
        caption's words, as exchanges of a decoder's positions are of whole passes.
        """
        own, vocabulary = self.model, require_vocabulary(self.model)
        longest: dict[str, Any] = {"max_length": vocabulary.most[1]} if vocabulary.most else {}
        with intervene(own, edits), torch.no_grad():
            if self.is_image and edits:
                ids = own(source, self.answer[:, :-1]).argmax(-1)
            else:
                ids = generate(own, source, **longest)
        return torch.cat([ids.new_full((1, 1), own.config.sos), ids], 1)

    def probability(self, source: Tensor, answers: Sequence[Tensor], edits: Edits) -> list[float]:
        """The probabilities of whole answers."""
        found = score_variants(self.model, source, answers, [edits])
        return found.log_probability[0, :, 0].exp().tolist()


@dataclass(frozen=True)
class Answer:
    """The store of the vectors of what was asked, which lives as long as this object."""

    store: Store
    folder: TemporaryDirectory


def load_asked(name: str | os.PathLike[str]) -> Model:
    """The model of a checkpoint, by folder or name.

    Raises:
        InputError: it is none, or it cannot write text.
    """
    model = require_model(load_model(name), "which writes no answers")
    require_vocabulary(model)
    return model


def reads_images(model: Model) -> bool:
    """True for a model that writes captions."""
    return isinstance(model, CaptionModel)


def pose(model: Model, text: str) -> Posed:
    """A text that a model is asked.

    Raises:
        InputError: an empty or too long text, one that the vocabulary cannot say, or a model of images.
    """
    text = " ".join(text.split())
    if reads_images(model):
        raise InputError(f"{model.name} writes captions of images: a text cannot be put to it")
    if not text:
        raise InputError("an empty text: type a question or a text")
    if len(text) > LONGEST:
        raise InputError(f"a text of {len(text)} characters: give at most {LONGEST}")
    asked = _pose(model, text, Question(text, "", "asked"))
    symbols = require_vocabulary(model).symbols
    return replace(asked, tokens=tuple(str(symbols[each]) for each in asked.source[0].tolist()))


def pose_image(model: Model, number: int) -> Posed:
    """An image of the data that a model of captions was trained on.

    Raises:
        InputError: it reads no images.
    """
    if not isinstance(model, CaptionModel):
        raise InputError(f"{model.name} reads no images")
    name, split = default_data(model)
    image: Any = load_data(name, split=split, n=number + 1)[number]
    asked = _pose(model, f"image {number} of {name} (its caption: ‘{image.captions[0]}’)", image)
    symbols, config = require_vocabulary(model).symbols, model.config
    written = [
        each for each in asked.answer[0, 1:].tolist() if each not in (config.eos, config.pad)
    ]
    words = tuple(str(symbols[each]) for each in written)
    own = replace(image, captions=(asked.told,), sentences=())
    return replace(asked, example=own, tokens=words)


def _pose(model: Model, text: str, example: Any) -> Posed:
    """The example with the model's answer."""
    pairs = encode_examples([example], require_vocabulary(model))
    source = pairs.source.padded(torch.tensor([0]), model.config.pad).to(model.device)
    start = torch.full((1, 1), model.config.sos, device=model.device)
    asked = Posed(model, text, example, source, (), start, bool(pairs.cut[0]))
    return replace(asked, answer=asked.write(source, {}))


def keep(posed: Posed) -> Answer:
    """The roles and attention of what was asked; of an image the vectors that write its caption."""
    folder = TemporaryDirectory(prefix="tprprobe-ask-")
    target = "reference" if posed.is_image else "generated"
    return Answer(
        extract_one(posed.model, posed.example, Path(folder.name) / "store", target), folder
    )


def exact_answer(posed: Posed) -> str:
    """The exact value of a question of arithmetic; empty for any other text."""
    try:
        return "" if posed.is_image else str(evaluate(posed.text))
    except InputError:
        return ""


def write_share(p: float) -> str:
    """A probability in three digits."""
    if p < LEAST:
        return f"below {LEAST:.0e}"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def find_reference(store: Store, text: str) -> str:
    """The right answer to a text that is one of the store's; empty for any other."""
    tokens = store.tokens
    column = next((name for name in ("question", "source") if name in tokens), None)
    if column is None or "answer" not in tokens:
        return ""
    found = tokens.loc[tokens[column] == text, "answer"]
    return str(found.iloc[0]) if len(found) else ""


def tell_answer(posed: Posed, name: str, exact: str = "", reference: str = "") -> str:
    """What the model answers, how probable that is, and whether it is right where that is known."""
    p = posed.probability(posed.source, [posed.answer], {})[0]
    about = f" writes of {posed.text}" if posed.is_image else " answers"
    told = f"{name}{about}: ‘{posed.told}’ (probability {write_share(p)})"
    if exact:
        return (
            f"{told}; the exact answer is {exact}: {'right' if exact == posed.told else 'wrong'}."
        )
    if reference:
        same = "the same" if reference == posed.told else f"‘{reference}’"
        told = f"{told}; the reference is {same}"
    cut = f" Only its first {len(posed.tokens)} tokens are read." if posed.was_cut else ""
    return f"{told}.{cut}"
