"""Recipes of swaps: whose vectors change places in which data, in a TOML file checked key by key."""

import os
from pathlib import Path

from pydantic import Field, model_validator

from tprpapers.swaps.number_pairs import KINDS
from tprprobe.errors import unknown
from tprprobe.files.settings import parse, read_toml
from tprprobe.interventions.sweep_recipes import RecipeData

UNBINDING = "unbinding"  # the kind of swap of a TPGN's captions, alone too
OF_POLARITY = ("donors", "shifts", "erasures")
OF_REFERENCE = (*OF_POLARITY, "surgery")


class SwapRecipe(RecipeData, strict=True):
    """Swaps: kinds of pairs whose vectors are exchanged, and what else is measured of them.

    Swaps are kinds of pairs of numbers (`find_swaps`) whose vectors are exchanged in all ways of the
    encoder, in the n arithmetic questions; ``whole``: only in all layers and heads at once. ``unbinding``: two words' unbinding vectors in captions of n images.
    ``donors``: numerators and denominators also take roles from the ``reference`` questions.
    ``shifts``: only the part of their vectors that tells them apart in the ``reference`` questions is
    exchanged, as many times as each of these doses says. ``erasures``: what tells them apart linearly
    there is taken out of their vectors. ``surgery``: a scheme of roles; hidden states of the encoder are
    decomposed in the ``reference`` questions, and the two change places in the decomposition.
    """

    swaps: list[str] = Field(min_length=1)
    whole: bool = False
    donors: bool = False
    shifts: list[float] = Field(default_factory=list)
    erasures: bool = False
    surgery: str | None = None

    @model_validator(mode="after")
    def _used(self) -> "SwapRecipe":
        if not self.has_reference:
            self.refuse(["reference"], "of swaps without donors, shifts, erasures or surgery")
        for name in OF_POLARITY:
            if getattr(self, name) and "polarity" not in self.swaps:
                raise ValueError(f"{name} needs swaps = ['polarity']: they are of its pairs")
        if self.swaps == [UNBINDING]:
            self.refuse(["whole", "surgery"], "of unbinding vectors")
        elif strange := [kind for kind in self.swaps if kind not in KINDS]:
            raise unknown("kind of swap", strange[0], (*KINDS, f"{UNBINDING} (alone)"))
        return self

    @property
    def has_reference(self) -> bool:
        """True if examples of reference are read."""
        return any(getattr(self, name) for name in OF_REFERENCE)

    @property
    def examples(self) -> int:
        """How many are read."""
        return self.n + (self.reference if self.has_reference else 0)


def read_recipe(path: str | os.PathLike[str]) -> SwapRecipe:
    """The recipe in a file.

    Raises:
        InputError: no such file, no TOML, an unknown key, a wrong value, a key that changes nothing.
    """
    return parse(SwapRecipe, read_toml(path), Path(path).name)
