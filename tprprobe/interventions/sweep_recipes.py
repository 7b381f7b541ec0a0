"""Recipes of sweeps: what is edited in which data, in a TOML file checked key by key."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tprprobe.errors import unknown
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.interventions.number_pairs import KINDS
from tprprobe.interventions.participants import AGENTS
from tprprobe.interventions.references import EDITS

UNBINDING = "unbinding"  # the kind of swap of a TPGN's captions, alone too
OF_EDITS = ("heads", "together", "strengths", "clusters")
OF_POLARITY = ("donors", "shifts", "erasures")
OF_REFERENCE = (*OF_POLARITY, "surgery")
Count = Annotated[int, Field(gt=0)]


class Recipe(Settings, strict=True):
    """A sweep: every edit, at every strength, on every head of every site that matches; or ``swaps``.

    Swaps are kinds of pairs of numbers (`find_swaps`) whose vectors are exchanged in all ways of the
    encoder, in the n arithmetic questions (or reports of the generated English: ``agent``); ``whole``: only
    in all layers and heads at once. ``unbinding``: two words' unbinding vectors in captions of n images.
    ``donors``: numerators and denominators also take roles from the ``reference`` questions.
    ``shifts``: only the part of their vectors that tells them apart in the ``reference`` questions is
    exchanged, as many times as each of these doses says. ``erasures``: what tells them apart linearly
    there is taken out of their vectors. ``surgery``: a scheme of roles; hidden states of the encoder are
    decomposed in the ``reference`` questions, and the two change places in the decomposition.
    Means, resampled vectors and the centers of ``snap`` come from ``reference`` further examples of
    the same data, not from the ``n`` that are scored. ``clusters`` are the numbers of centers of
    ``snap``. Heads ``each`` are edited alone, ``all`` together; sites ``together`` are all edited at once.
    """

    data: str | None = None
    split: str | None = None
    n: Count = 500
    reference: Count = 200
    seed: int = 0
    sites: list[str] = Field(default_factory=list)
    edits: list[str] = Field(default_factory=list)
    swaps: list[str] = Field(default_factory=list)
    whole: bool = False
    donors: bool = False
    shifts: list[float] = Field(default_factory=list)
    erasures: bool = False
    surgery: str | None = None
    heads: Literal["each", "all"] = "each"
    together: bool = False
    strengths: list[float] = Field(default_factory=lambda: [1.0], min_length=1)
    clusters: list[Count] = Field(default_factory=list)

    @model_validator(mode="after")
    def _used(self) -> "Recipe":
        if bool(self.swaps) == bool(self.sites) or bool(self.sites) != bool(self.edits):
            raise ValueError("give sites and edits, or swaps")
        if self.swaps:
            self.refuse(OF_EDITS, "of swaps")
        else:
            self.refuse(["whole", *OF_REFERENCE], "without swaps")
        if not self.has_reference:
            self.refuse(["reference"], "of swaps without donors, shifts, erasures or surgery")
        for name in OF_POLARITY:
            if getattr(self, name) and "polarity" not in self.swaps:
                raise ValueError(f"{name} needs swaps = ['polarity']: they are of its pairs")
        if self.swaps == [UNBINDING]:
            self.refuse(["whole", "surgery"], "of unbinding vectors")
        elif self.swaps != [AGENTS] and (strange := [k for k in self.swaps if k not in KINDS]):
            alone = (f"{AGENTS} (alone)", f"{UNBINDING} (alone)")
            raise unknown("kind of swap", strange[0], (*KINDS, *alone))
        if strange := [edit for edit in self.edits if edit not in EDITS]:
            raise unknown("edit", strange[0], EDITS)
        if ("snap" in self.edits) != bool(self.clusters):
            raise ValueError("edit 'snap' and clusters = [K, …] are given together or not at all")
        return self

    @property
    def has_reference(self) -> bool:
        """True if examples of reference are read."""
        return not self.swaps or any(getattr(self, name) for name in OF_REFERENCE)


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """The recipe in a file.

    Raises:
        InputError: no such file, no TOML, an unknown key, a wrong value, a key that changes nothing.
    """
    return parse(Recipe, read_toml(path), Path(path).name)
