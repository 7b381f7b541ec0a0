"""The trainings of the plan, one after another; those that are done are passed over."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tprprobe.files.settings import parse, read_toml
from tprprobe.models import build
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.models.protocol import Model
from tprprobe.training.loop import MODEL, train
from tprprobe.training.recipes import Recipe

RUNS = Path("runs/successors")
PLAN = read_toml(Path(__file__).with_name("plan.toml"))


@dataclass(frozen=True)
class Training:
    """A model of a task and a seed."""

    task: str
    model: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.model}-{self.seed}"

    @property
    def data(self) -> str:
        return PLAN["tasks"][self.task]["data"]

    @property
    def architecture(self) -> dict[str, Any]:
        """The model and its sizes; those of some tasks differ."""
        sizes = PLAN["tasks"][self.task].get("sizes", {})
        return PLAN["models"][self.model] | sizes.get(self.model, {})

    @property
    def recipe(self) -> Recipe:
        task = PLAN["tasks"][self.task]
        mix = [{"data": task["data"], "split": "train"}]
        stage = PLAN["stage"] | {"steps": task["steps"], "mix": mix}
        settings: dict[str, Any] = PLAN["recipe"] | {"model": self.architecture}
        identity = {"name": self.name, "seed": self.seed}
        return parse(Recipe, settings | identity | {"stages": [stage]}, self.name)

    def load(self, runs: Path) -> Model:
        """The trained model."""
        return read_checkpoint(runs / self.name / MODEL).eval()

    def build_untrained(self, runs: Path, seed: int) -> Model:
        """A model of the same sizes with random weights."""
        trained = self.load(runs)
        model = build(trained.describe(), seed=seed).eval()
        model.vocabulary = trained.vocabulary
        return model


def list_trainings() -> Iterator[Training]:
    """Task by task and seed by seed, so that a study that is cut off has whole seeds."""
    for (task, settings), seed in product(PLAN["tasks"].items(), PLAN["seeds"]):
        yield from (Training(task, model, seed) for model in settings["models"])


def train_all(runs: Path) -> None:
    """Trains what is missing."""
    for training in list_trainings():
        if not (runs / training.name / MODEL).exists():
            train(training.recipe, runs / training.name, resume=True)
