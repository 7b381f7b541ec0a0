"""What a sweep of interventions does, in a TOML file checked key by key."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tprprobe.errors import InputError, unknown
from tprprobe.interventions.number_pairs import KINDS
from tprprobe.training.recipes import read_settings

AGENTS = "agent"  # of the generated English, not beside the kinds of numbers
EDITS = ("zero", "one", "mean", "resample", "snap", "one_hot")
Count = Annotated[int, Field(gt=0)]


class Recipe(BaseModel):
    """A sweep: every edit, at every strength, on every head of every site that matches; or ``swaps``.

    Swaps are kinds of pairs of numbers (`find_swaps`) whose vectors are exchanged in all ways of the
    encoder, in the n arithmetic questions (or reports of the generated English: ``agent``); ``whole``: only in all layers and heads at once.
    ``donors``: numerators and denominators also take roles from the ``reference`` questions.
    Means, resampled vectors and the centres of ``snap`` come from ``reference`` further examples of
    the same data, not from the ``n`` that are scored. ``clusters`` are the numbers of centres of
    ``snap``. Heads ``each`` are edited alone, ``all`` together; sites ``together`` are all edited at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    data: str | None = None
    split: str | None = None
    n: Count = 500
    reference: Count = 200
    seed: int = 0
    sites: list[str] = []
    edits: list[str] = []
    swaps: list[str] = []
    whole: bool = False
    donors: bool = False
    heads: Literal["each", "all"] = "each"
    together: bool = False
    strengths: Annotated[list[float], Field(min_length=1)] = [1.0]
    clusters: list[Count] = []


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """The recipe in a file.

    Raises:
        InputError: no such file, no TOML, an unknown key, a wrong value.
    """
    settings, where = read_settings(path), Path(path).name
    for key in settings:
        if key not in Recipe.model_fields:
            raise unknown(f"key in {where}", key, Recipe.model_fields)
    try:
        recipe = Recipe.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: {place}: {first['msg']} (given: {first['input']!r})") from error
    if bool(recipe.swaps) == bool(recipe.sites) or bool(recipe.sites) != bool(recipe.edits):
        raise InputError(f"{where}: give sites and edits, or swaps")
    if recipe.donors and "polarity" not in recipe.swaps:
        raise InputError(
            f"{where}: donors = true needs swaps = ['polarity']: they are of its pairs"
        )
    if recipe.swaps != [AGENTS] and (strange := [k for k in recipe.swaps if k not in KINDS]):
        raise unknown(f"kind of swap in {where}", strange[0], (*KINDS, f"{AGENTS} (alone)"))
    if strange := [edit for edit in recipe.edits if edit not in EDITS]:
        raise unknown(f"edit in {where}", strange[0], EDITS)
    if ("snap" in recipe.edits) != bool(recipe.clusters):
        raise InputError(
            f"{where}: edit 'snap' and clusters = [K, …] are given together or not at all"
        )
    return recipe
