"""Recipes of sweeps: what is edited in which data, in a TOML file checked key by key."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tprprobe.errors import unknown
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.interventions.references import EDITS

Count = Annotated[int, Field(gt=0)]


class Chosen(Settings, strict=True):
    """The data of a recipe: ``n`` examples that are scored, then ``reference`` further ones."""

    data: str | None = None
    split: str | None = None
    n: Count = 500
    reference: Count = 200
    seed: int = 0

    @property
    def examples(self) -> int:
        """How many are read."""
        return self.n + self.reference


class Recipe(Chosen, strict=True):
    """A sweep: every edit, at every strength, on every head of every site that matches.

    ``data``, ``split``, ``n``, ``reference`` and ``seed`` say which examples are scored, and how many further ones give means, resampled
    vectors and centers.

    Attributes:
        sites: Sites, as patterns.
        edits: Names of edits: mean, resample, zero, one, snap and others.
        heads: ``each`` head alone, or ``all`` together.
        together: Whether all sites are edited at once.
        strengths: Shares of the way from a vector to the new one.
        clusters: Numbers of centers of ``snap``.
        model_config: Settings of pydantic.

    Examples:
        >>> tp.interventions.Recipe(sites=["encoder.*.self.role"], edits=["zero"], n=8).reference
        200
    """

    sites: Annotated[list[str], Field(min_length=1)]
    edits: Annotated[list[str], Field(min_length=1)]
    heads: Literal["each", "all"] = "each"
    together: bool = False
    strengths: list[float] = Field(default_factory=lambda: [1.0], min_length=1)
    clusters: list[Count] = Field(default_factory=list)

    @model_validator(mode="after")
    def _used(self) -> "Recipe":
        if strange := [edit for edit in self.edits if edit not in EDITS]:
            raise unknown("edit", strange[0], EDITS)
        if ("snap" in self.edits) != bool(self.clusters):
            raise ValueError("edit 'snap' needs clusters = [K, …], and clusters need edit 'snap'")
        return self


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    r"""The recipe in a file.

    Args:
        path: A TOML file.

    Returns:
        The recipe.

    Raises:
        InputError: No such file, no TOML, an unknown key, a wrong value, or a key that changes nothing.

    Examples:
        >>> _ = Path("sweep.toml").write_text('sites = ["encoder.-1.self.role"]\nedits = ["zero"]\nn = 4\nreference = 1\n')
        >>> tp.interventions.read_recipe("sweep.toml").edits
        ['zero']
    """
    return parse(Recipe, read_toml(path), Path(path).name)
