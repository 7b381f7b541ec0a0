"""The models of the film: a GRU that copies digits, an arithmetic TP-Transformer and its Transformer."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from studies.tpdn.trainings import RECIPE as DIGITS
from tprprobe.training.loop import MODEL, STEPS
from tprprobe.training.recipes import Recipe, read_recipe

ARITHMETIC = Path(__file__).with_name("arithmetic.toml")
SPACED = 42  # of 2,500 steps 38 different ones
VARIANTS = {
    "gru": (DIGITS, [f"keep_spaced={SPACED}"]),
    "tp-transformer": (ARITHMETIC, []),
    "transformer": (ARITHMETIC, ['model.architecture="transformer"']),
}
SEEDS = (0, 1, 2)


class Filmed(NamedTuple):
    """One run of the film."""

    variant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.variant}-{self.seed}"

    @property
    def recipe(self) -> Recipe:
        """The recipe of the variant with this seed."""
        file, changed = VARIANTS[self.variant]
        return read_recipe(file, [f'name="{self.name}"', f"seed={self.seed}", *changed])

    def folder(self, runs: Path) -> Path:
        """Where its checkpoint is, once it is trained."""
        return runs / self.name / MODEL

    def steps(self, runs: Path) -> Path:
        """Where the checkpoints of its steps are."""
        return runs / self.name / STEPS


def list_models() -> Iterator[Filmed]:
    """The runs, seed by seed."""
    for seed in SEEDS:
        for variant in VARIANTS:
            yield Filmed(variant, seed)
