"""The 36 models of the table: three encoders × three decoders × four tasks, by one recipe."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tprpapers.worlds.sequences import PREFIX, TASKS
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.files.writing import held
from tprprobe.training.loop import MODEL, train
from tprprobe.training.pools import Pool
from tprprobe.training.recipes import Mix, Recipe, read_recipe

RECIPE = Path(__file__).with_name("recipe.toml")
SHAPES = ("uni", "bi", "tree")


class Trained(NamedTuple):
    """One model of the table."""

    encoder: str
    decoder: str
    task: str
    seed: int

    @property
    def name(self) -> str:
        return "-".join(map(str, self))

    @property
    def data(self) -> str:
        return PREFIX + self.task

    @property
    def recipe(self) -> Recipe:
        """The recipe of the study with this model's coders, task and seed."""
        texts = {"name": self.name, "model.encoder": self.encoder, "model.decoder": self.decoder}
        texts |= {"stages.0.mix.0.data": self.data, "evaluate.0.data": self.data}
        settings = [f'{name}="{text}"' for name, text in texts.items()]
        return read_recipe(RECIPE, [f"seed={self.seed}", *settings])

    def folder(self, runs: Path) -> Path:
        """Where its checkpoint is, once it is trained."""
        return runs / self.name / MODEL


def list_models(seed: int) -> Iterator[Trained]:
    """The models of the table, task by task."""
    for task, encoder, decoder in product(TASKS, SHAPES, SHAPES):
        yield Trained(encoder, decoder, task, seed)


def train_missing(runs: Path, models: Iterable[Any]) -> None:
    """Trains those models that the folder lacks and no other process is training."""
    for model in models:
        with held(runs / model.name / "shared.lock", wait=False) as is_held:
            if is_held and not model.folder(runs).exists():
                train(model.recipe, runs / model.name, resume=True, load_pool=load_pool)


def load_pool(mixes: list[Mix], vocabulary: Codec, device: torch.device) -> Pool:
    """The examples of a stage, loaded once for all models of a task."""
    return _loaded(tuple(mix.model_dump_json() for mix in mixes), vocabulary, device)


@cache
def _loaded(mixes: tuple[str, ...], vocabulary: Any, device: torch.device) -> Pool:
    return Pool.load([Mix.model_validate_json(mix) for mix in mixes], vocabulary, device)
