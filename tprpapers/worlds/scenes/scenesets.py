"""Scenes as a data set: drawn when they are read, the same for the same seed, split and knobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from tprpapers.captions.images import Captioned
from tprpapers.worlds.english.labelling import TASKS, label_sentences
from tprpapers.worlds.english.sentences import Sentence
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.parallel_draws import make
from tprpapers.worlds.scenes.captioning import describe
from tprpapers.worlds.scenes.lexicon import LEXICON
from tprpapers.worlds.scenes.rendering import render
from tprpapers.worlds.scenes.scene import COMPOSITIONAL, draw, without_hats
from tprprobe.data.dataset import SHARES, Dataset, Labels, Request
from tprprobe.errors import InputError, unknown
from tprprobe.gold.labels import Labelled, Target

NAME = "scenes"
PERSONS = ("hats", "colored")
MAX_CAPTIONS = 12  # captions that every scene has wordings for


@dataclass(frozen=True, slots=True)
class SceneKnobs:
    """The settings of scenes: the noise of images (1 equals the signal), the captions per image, and
    what of persons has a color: their ``hats``, or they themselves (``colored``, the first version,
    which the shipped models were trained on).
    """

    noise: float = 0.3
    captions: int = 5
    persons: str = PERSONS[0]

    def __post_init__(self) -> None:
        if not (self.noise >= 0 and 1 <= self.captions <= MAX_CAPTIONS):
            values = f"noise = {self.noise}, captions = {self.captions}"
            raise InputError(f"{values}; noise is 0 or more, captions 1 to {MAX_CAPTIONS}")
        if self.persons not in PERSONS:
            raise unknown("persons", self.persons, PERSONS)


@dataclass(frozen=True, eq=False)
class Pictured(Captioned):
    """A captioned image with `sentences`, the captions and their labels, and the tag of every word form."""

    sentences: tuple[Sentence, ...] = ()
    lexicon: Mapping[str, str] = field(default_factory=dict)

    def labels(self, text: str | None) -> Labels:
        """The labels of the first caption; the tags of another by its words."""
        if text is None:
            return None, label_sentences(self.sentences[:1]) if self.sentences else None
        words = tuple(text.split())
        tags = tuple(
            Target(self.lexicon[word], (i, i + 1))
            for i, word in enumerate(words)
            if word in self.lexicon
        )
        return None, Labelled("", "", words, text, {"pos": tags})


@dataclass(frozen=True, repr=False)
class DrawnScenes(Dataset[Pictured]):
    """Scenes drawn when they are read; row i is `sample(i, seed, split, knobs)`."""

    knobs: SceneKnobs
    workers: int

    @property
    def tasks(self) -> tuple[str, ...]:
        return TASKS[:2]

    def read(self, rows: Sequence[int]) -> Iterator[Pictured]:
        return make(partial(_draw, self.seed, self.split, self.knobs), rows, self.workers)


def _draw(seed: int, split: str, knobs: SceneKnobs, rows: Sequence[int]) -> list[Pictured]:
    return [sample(row, seed, split, knobs) for row in rows]


def sample(
    index: int, seed: int = 0, split: str = "train", knobs: SceneKnobs = SceneKnobs()
) -> Pictured:
    """Scene number `index` of a split: always the same for the same arguments.

    In `compositional` the main group has a color that things of its kind have in no other split.
    """
    names = [*SHARES, COMPOSITIONAL]
    scene_rng, word_rng, image_rng = np.random.default_rng([seed, names.index(split), index]).spawn(
        3
    )
    scene = draw(scene_rng, split)
    if knobs.persons == "colored":
        scene = without_hats(scene)
    sentences = describe(scene, word_rng, knobs.captions)
    features = render(scene, image_rng, knobs.noise)
    texts = tuple(sentence.text for sentence in sentences)
    return Pictured(f"{split}-{seed}-{index}", features, texts, sentences, LEXICON)


def is_scenes(spec: str) -> bool:
    """True if a data set is the generated scenes: `scenes` or `scenes:KNOB=VALUE,…`."""
    return spec.partition(":")[0] == NAME


def draw_scenes(request: Request) -> DrawnScenes:
    """The generated scenes; by default 1,000 of `test`.

    Knobs stand behind a colon: `scenes:noise=0.5,captions=8`, `scenes:persons=colored`.
    Raises: InputError for an unknown split or knob, or a value that a knob cannot have.
    """
    split = request.split or "test"
    if split not in (*SHARES, COMPOSITIONAL):
        raise unknown("split", split, (*SHARES, COMPOSITIONAL))
    assignments = request.spec.removeprefix(NAME).removeprefix(":")
    knobs = SceneKnobs(**dict(map(_knob, filter(None, assignments.split(",")))))
    rows = range(request.n or 1000)
    return DrawnScenes(request.spec, split, request.seed, rows, knobs, request.workers)


def _knob(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    kinds = {"noise": float, "captions": int, "persons": str}
    if name not in kinds:
        raise unknown("knob", name, [field.name for field in fields(SceneKnobs)])
    try:
        return name, kinds[name](value)
    except ValueError:
        raise InputError(f"{value!r} for {name}; write, say, noise=0.5 or captions=8") from None


load = Loader(draw_scenes)
