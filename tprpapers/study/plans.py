"""Plans: the models that a study compares and their data, in one TOML file."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.models import expand
from tprprobe.training.recipes import Mix, Recipe

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]


class Plan(Settings):
    """A study: every variant is trained with every seed by one recipe.

    ``variants`` are what each changes of the recipe's ``model``. Questions of more than ``longest``
    characters are kept out of training, and tested apart. ``test`` is what finished runs answer or
    summarize.
    """

    name: Name
    seeds: Annotated[list[int], Field(min_length=1)]
    longest: Annotated[int, Field(gt=0)] | None = None
    recipe: dict[str, Any]
    variants: Annotated[dict[Name, dict[str, Any]], Field(min_length=1)]
    test: Annotated[list[Mix], Field(min_length=1)]

    @model_validator(mode="after")
    def _used(self) -> "Plan":
        if run_keys := [name for name in ("name", "seed") if name in self.recipe]:
            raise ValueError(f"recipe.{run_keys[0]} is the run's own: leave it out")
        if not isinstance(self.recipe.get("model", {}), dict):
            raise ValueError("recipe.model is a table of options, as in [recipe.model]")
        for mix in self.test:
            mix.refuse(["repeat"], "in what is tested")
        return self

    def runs(self) -> dict[str, Recipe]:
        """The recipes of all runs by name, seed by seed."""
        return {
            name: self._recipe(variant, seed, name)
            for seed in self.seeds
            for variant in self.variants
            for name in [f"{variant}-{seed}"]
        }

    def trains_alike(self, recipe: Any) -> bool:
        """True if another plan's recipe trains as this one's, with its defaults written out or not."""
        return isinstance(recipe, dict) and self._training(recipe) == self._training(self.recipe)

    def _training(self, recipe: Mapping[str, Any]) -> dict[str, Any]:
        unnamed = {"name": self.name, "model": {}}
        return parse(Recipe, unnamed | dict(recipe), f"{self.name}: recipe").training

    def _recipe(self, variant: str, seed: int, name: str) -> Recipe:
        model = self.recipe.get("model", {}) | self.variants[variant]
        settings = self.recipe | {"name": name, "seed": seed, "model": model}
        expand(model)  # names an option that is none before anything is trained
        return parse(Recipe, settings, f"{self.name}: recipe of {variant}")


def read_plan(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Plan:
    """The plan in a TOML file, with ``key.sub=value`` overrides; every run's recipe is checked.

    Raises:
        InputError: no such file, no TOML, an unknown key (the nearest is suggested), a wrong value.
    """
    plan = parse(Plan, read_toml(path, overrides), path)
    plan.runs()
    return plan
