"""Recipes of swaps: whose vectors change places in which data, in a TOML file checked key by key."""

import os
from pathlib import Path

from pydantic import Field, model_validator

from tprpapers.swaps.number_pairs import KINDS
from tprprobe.errors import unknown
from tprprobe.files.settings import parse, read_toml
from tprprobe.interventions.sweep_recipes import RecipeData

UNBINDING = "unbinding"  # the kind of swap of a TPGN's captions, alone too


class SwapRecipe(RecipeData, strict=True):
    """Swaps: kinds of pairs whose vectors are exchanged, and what else is measured of them.

    Swaps are kinds of pairs of numbers (`find_swaps`) whose vectors are exchanged in all ways of the
    encoder, in the n arithmetic questions; ``whole``: only in all layers and heads at once. ``unbinding``: two words' unbinding vectors in captions of n images.
    ``donors``: numerators and denominators also take roles from the ``reference`` questions.
    """

    swaps: list[str] = Field(min_length=1)
    whole: bool = False
    donors: bool = False

    @model_validator(mode="after")
    def _used(self) -> "SwapRecipe":
        if not self.donors:
            self.refuse(["reference"], "of swaps without donors")
        elif "polarity" not in self.swaps:
            raise ValueError("donors needs swaps = ['polarity']: they are of its pairs")
        if self.swaps == [UNBINDING]:
            self.refuse(["whole"], "of unbinding vectors")
        elif strange := [kind for kind in self.swaps if kind not in KINDS]:
            raise unknown("kind of swap", strange[0], (*KINDS, f"{UNBINDING} (alone)"))
        return self

    @property
    def examples(self) -> int:
        """How many are read."""
        return self.n + (self.reference if self.donors else 0)


def read_recipe(path: str | os.PathLike[str]) -> SwapRecipe:
    """The recipe in a file.

    Raises:
        InputError: no such file, no TOML, an unknown key, a wrong value, a key that changes nothing.
    """
    return parse(SwapRecipe, read_toml(path), Path(path).name)
