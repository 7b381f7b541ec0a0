"""Live questions: what a model is asked and answers, how probable that is, and its attention meanwhile."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from tprprobe.dashboard.contents import read_texts
from tprprobe.dashboard.next_words import group_words
from tprprobe.data import load_data
from tprprobe.data.mathematics.questions import Question
from tprprobe.data.pairs import encode_examples
from tprprobe.errors import InputError
from tprprobe.gold import evaluate
from tprprobe.interventions.batched_edits import score_variants
from tprprobe.models import load_model
from tprprobe.models.checkpoint import default_data
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import CaptionModel, Model, Readable, require_vocabulary
from tprprobe.site.hooks import PlacedEdit, capture, find_sites, intervene
from tprprobe.store import Store

Edits = Mapping[str, PlacedEdit]
LONGEST = 4000  # characters
LEAST = 1e-38  # probability that a float32 tells from none


@dataclass(frozen=True, eq=False)
class Posed:
    """What a model was asked: its ids (or features), the tokens that edits are of (of an image the words of the caption),
    and the ids of the answer that it writes, start symbol first.
    """

    model: Model
    text: str
    source: Shaped[Tensor, "1 source"]
    tokens: tuple[str, ...]
    answer: Int[Tensor, "1 target_seq"]
    words: tuple[tuple[int, ...], ...] = ()  # for every token those of the same word
    was_cut: bool = False

    @property
    def is_image(self) -> bool:
        return isinstance(self.model, CaptionModel)

    @property
    def told(self) -> str:
        """The answer as text."""
        return self.say(self.answer)

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

    def attend(self) -> dict[str, Float[np.ndarray, "head query key"]]:
        """The attention maps of the model while it reads and writes, by site."""
        names = [each for each in find_sites(self.model) if each.endswith(".attention")]
        with capture(self.model, names) as acts, torch.no_grad():
            self.model(self.source, self.answer[:, :-1])
        return {name: acts[name][0].float().cpu().numpy() for name in names}


def load_asked(name: str | os.PathLike[str]) -> Readable:
    """The model of a checkpoint, by folder, name, or hub id.

    Raises:
        InputError: it is none, or its vocabulary is not known.
    """
    model = load_model(name)
    require_vocabulary(model)
    return model


def pose(model: Model, text: str) -> Posed:
    """A text that a model is asked.

    Raises:
        InputError: an empty or too long text, one that the vocabulary cannot say, or a model of images.
    """
    text = " ".join(text.split())
    if isinstance(model, CaptionModel):
        raise InputError(f"{model.name} writes captions of images: it cannot read a text")
    if not text:
        raise InputError("an empty text: type a question or a text")
    if len(text) > LONGEST:
        raise InputError(f"a text of {len(text)} characters: give at most {LONGEST}")
    asked = _pose(model, text, Question(text, "", "asked"))
    vocabulary = require_vocabulary(model)
    tokens = tuple(str(vocabulary.symbols[each]) for each in asked.source[0].tolist())
    return replace(asked, tokens=tokens, words=group_words(text, vocabulary)[: len(tokens)])


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
    symbols, ends = require_vocabulary(model).symbols, (model.config.eos, model.config.pad)
    words = [str(symbols[each]) for each in asked.answer[0, 1:].tolist() if each not in ends]
    return replace(asked, tokens=tuple(words), words=tuple((i,) for i in range(len(words))))


def _pose(model: Model, text: str, example: Any) -> Posed:
    """The example with the model's answer."""
    pairs = encode_examples([example], require_vocabulary(model))
    source = pairs.source.padded(torch.tensor([0]), model.config.pad).to(model.device)
    start = torch.full((1, 1), model.config.sos, device=model.device)
    asked = Posed(model, text, source, (), start, was_cut=bool(pairs.cut[0]))
    return replace(asked, answer=asked.write(source, {}))


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
    if "answer" not in store.tokens:
        return ""
    texts = read_texts(store)
    samples = texts.index[(texts == text).to_numpy()]
    answers = store.tokens.loc[store.tokens["sample"].isin(samples[:1]), "answer"]
    return str(answers.iloc[0]) if len(answers) else ""


def summarize_answer(posed: Posed, store: Store) -> str:
    """What the model answers, how probable that is, and whether it is right where that is known."""
    p = write_share(posed.probability(posed.source, [posed.answer], {})[0])
    about = f" writes of {posed.text}" if posed.is_image else " answers"
    told = f"{posed.model.name}{about}: ‘{posed.told}’ (probability {p})"
    if exact := exact_answer(posed):
        judged = "right" if exact == posed.told else "wrong"
        return f"{told}; the exact answer is {exact}: {judged}."
    if reference := "" if posed.is_image else find_reference(store, posed.text):
        same = "the same" if reference == posed.told else f"‘{reference}’"
        told = f"{told}; the reference is {same}"
    cut = f" Only its first {len(posed.tokens)} tokens are read." if posed.was_cut else ""
    return f"{told}.{cut}"
