"""Recipes: model, data and schedule of a training run, in a TOML file checked key by key."""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from tprprobe import plugins
from tprprobe.data import pin_version
from tprprobe.data.dataset import digest_named
from tprprobe.errors import unknown
from tprprobe.files.settings import Settings, parse, read_toml

Share = Annotated[float, Field(ge=0, lt=1)]


def _known_optimizer(name: str) -> str:
    names = ("adam", "adamw", *plugins.find("optimizers"))
    if name not in names:
        raise unknown("optimizer", name, names)
    return name


class Mix(Settings):
    """Some examples of one corpus, used ``repeat`` times as often as the others of the mix."""

    data: Annotated[str, AfterValidator(pin_version)]
    split: str | None = None
    n: Annotated[int, Field(gt=0)] | None = None
    seed: int = 0
    repeat: Annotated[int, Field(gt=0)] = 1


class Stage(Settings):
    """Optimizer steps on one mix; ``cosine`` decays the learning rate to a tenth at its end.

    ``adafactor`` is jiang's schedule over the steps of the whole run, which ``learning_rate``
    multiplies: 0.01 for 30,000 steps, then 1 / √(step − 20,000).
    """

    steps: Annotated[int, Field(gt=0)]
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Annotated[int, Field(ge=0)] = 0
    decay: Literal["constant", "cosine", "adafactor"] = "constant"
    mix: Annotated[list[Mix], Field(min_length=1)]

    @model_validator(mode="after")
    def _used(self) -> "Stage":
        if self.decay == "adafactor":
            self.refuse(["warmup"], "with decay 'adafactor'")
        return self


class SubwordSettings(Settings):
    """The sub-words of a run: read from a file, or trained on the first texts of the first mix."""

    file: str | None = None
    size: Annotated[int, Field(gt=0)] = 8000
    texts: Annotated[int, Field(gt=0)] = 50_000
    max_source: Annotated[int, Field(gt=0)] = 512
    max_target: Annotated[int, Field(gt=0)] = 64

    @model_validator(mode="after")
    def _used(self) -> "SubwordSettings":
        if self.file is not None:
            self.refuse(["size", "texts"], "of sub-words from a file")
        return self


class WordSettings(Settings):
    """Words that occur ``threshold`` times in the first stage's captions; ``glove``: a file of vectors, the first values of W_e."""

    threshold: Annotated[int, Field(gt=0)] = 5
    glove: str | None = None


class Optimizer(Settings):
    """Adam as schlag has it by default: β (0.9, 0.995), gradient norm clipped to 0.1; or a plug-in's optimizer."""

    name: Annotated[str, AfterValidator(_known_optimizer)] = "adam"
    betas: tuple[Share, Share] = (0.9, 0.995)
    eps: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: Annotated[float, Field(gt=0)] = 0.1

    @model_validator(mode="after")
    def _used(self) -> "Optimizer":
        if self.name == "adafactor":
            self.refuse(["betas", "eps", "weight_decay"], "of 'adafactor'")
        return self


class Recipe(Settings):
    """One training run.

    ``batch_size`` counts examples over all processes. Checkpoints are kept of every ``keep_every`` steps, and
    of at most ``keep_spaced`` steps that are evenly spaced on a logarithmic scale, the first and the last
    among them. With ``patience`` a run stops after so many evaluations in a row without a better score on the first
    data of ``evaluate``.
    """

    name: str
    model: dict[str, object]
    stages: Annotated[list[Stage], Field(min_length=1)]
    batch_size: Annotated[int, Field(gt=0)] = 1024
    precision: Literal["fp32", "bf16"] = "fp32"  # bf16 is 50 times slower on CPUs without its units
    seed: int = 0
    optimizer: Optimizer = Optimizer()
    label_smoothing: Share = 0.0
    subwords: SubwordSettings | None = None
    words: WordSettings | None = None  # of images' captions
    # of the texts of all mixes; by default the symbols that the data name, else the characters of the Mathematics Dataset
    units: Literal["symbols", "characters"] | None = None
    evaluate: list[Mix] = Field(default_factory=list)
    evaluate_every: Annotated[int, Field(gt=0)] = 1000
    save_every: Annotated[int, Field(gt=0)] = 1000
    patience: Annotated[int, Field(gt=0)] | None = None
    keep_every: Annotated[int, Field(gt=0)] | None = None
    keep_spaced: Annotated[int, Field(gt=1)] | None = None

    @model_validator(mode="after")
    def _used(self) -> "Recipe":
        if self.words is not None:
            self.refuse(["subwords", "units"], "beside [words]")
        if self.subwords is not None:
            self.refuse(["units"], "beside [subwords]")
        if self.patience is not None and not self.evaluate:
            self.refuse(["patience"], "without [[evaluate]]")
        for mix in self.evaluate:
            mix.refuse(["repeat"], "in what is evaluated")
        return self

    @property
    def steps(self) -> int:
        return sum(stage.steps for stage in self.stages)

    @property
    def kept_steps(self) -> set[int]:
        every = range(self.keep_every, self.steps + 1, self.keep_every) if self.keep_every else ()
        spaced = np.geomspace(1, self.steps, self.keep_spaced or 0).round().astype(int)
        return {*every, *spaced.tolist()}

    @property
    def training(self) -> dict[str, object]:
        """All settings with their defaults but those that change nothing of what is trained."""
        return self.model_dump(mode="json", exclude={"keep_every", "keep_spaced"})

    @property
    def mixes(self) -> list[Mix]:
        return [*(mix for stage in self.stages for mix in stage.mix), *self.evaluate]

    @cached_property
    def files(self) -> dict[str, str]:
        """The sha256 of every file that the data, the sub-words and the words are read from."""
        paths = self.subwords and self.subwords.file, self.words and self.words.glove
        names = {*(mix.data for mix in self.mixes), *filter(None, paths)}
        digests = {name: digest_named(name).items() for name in sorted(names)}
        return {f"{file} of {name}": digest for name in digests for file, digest in digests[name]}


def read_recipe(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Recipe:
    return parse(Recipe, read_toml(path, overrides), path)
