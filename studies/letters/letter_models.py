"""Twelve models of letters: four architectures × three tasks, each trained in minutes by one recipe."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tprpapers.worlds.sequences import PREFIX
from tprprobe.training.loop import MODEL
from tprprobe.training.recipes import Recipe, read_recipe

RECIPE = Path(__file__).with_name("recipe.toml")
TASKS = ("copy", "interleave", "sort")  # reversal mirrors copying
CODER = 'model.{side}="{kind}"'
ARCHITECTURES = {  # settings beside the recipe's, and the site that is decomposed
    "mlp": (("model.d_embedding=32", "stages.0.steps=1500"), "encoding"),
    "uni": (("model.d_embedding=32",), "encoding"),
    "transformer-bottleneck": (("stages.0.steps=1000",), "encoding"),
    "transformer": (
        ('model.architecture="transformer"', "model.n_layers=[2,2]", "stages.0.steps=1000"),
        "encoder.1.hidden",
    ),
}


class LetterModel(NamedTuple):
    """One model: its architecture and the task that it was trained on."""

    architecture: str
    task: str

    @property
    def name(self) -> str:
        return "-".join(self)

    @property
    def data(self) -> str:
        return f"{PREFIX}{self.task},symbols=letters"

    @property
    def site(self) -> str:
        """Where its states are decomposed: its one vector, or the last layer's states of tokens."""
        return ARCHITECTURES[self.architecture][1]

    @property
    def recipe(self) -> Recipe:
        """The recipe of the study with this model's settings and task."""
        coder = self.architecture.removesuffix("-bottleneck")
        coders = [CODER.format(side=side, kind=coder) for side in ("encoder", "decoder")]
        data = [f'{key}.0.data="{self.data}"' for key in ("stages.0.mix", "evaluate")]
        settings = [f'name="{self.name}"', *data, *ARCHITECTURES[self.architecture][0]]
        return read_recipe(RECIPE, settings + (coders if self.site == "encoding" else []))

    def folder(self, runs: Path) -> Path:
        """Where its checkpoint is, once it is trained."""
        return runs / self.name / MODEL


def list_models() -> Iterator[LetterModel]:
    """All of them, task by task."""
    return (LetterModel(kind, task) for task, kind in product(TASKS, ARCHITECTURES))
