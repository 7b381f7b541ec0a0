"""A finished training run that is to ship."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.models import load_model
from tprprobe.training.loop import MODEL
from tprprobe.training.recipes import Recipe


@dataclass
class FinishedRun:
    """A finished run, the recipe to print, and what it wrote, by split."""

    run: Path
    recipe: Recipe
    rows: dict[str, pd.DataFrame] = field(default_factory=dict)

    @cached_property
    def model(self) -> Any:
        """The trained model as it ships: in half precision."""
        model: Any = load_model(self.run / MODEL)
        model.name = self.recipe.name
        model.load_state_dict({k: v.half().float() for k, v in model.state_dict().items()})
        return model

    @property
    def data(self) -> str:
        """The name of the training data."""
        return self.recipe.stages[0].mix[0].data
