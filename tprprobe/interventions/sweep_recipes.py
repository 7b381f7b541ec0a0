"""Recipes of sweeps in TOML files, checked key by key; their edits by name, and the reference vectors of these."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Unpack

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field, model_validator

from tprprobe.data.pairs import Pairs
from tprprobe.errors import InputError, unknown
from tprprobe.estimators.clusters.kmeans import fill_unvaried, fit_means
from tprprobe.extraction.passes import read_block
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.interventions import edits
from tprprobe.interventions.placement import Where
from tprprobe.models.protocol import Language
from tprprobe.site.hooks import PlacedEdit

N_INIT = 3  # of k-means


@dataclass(frozen=True, eq=False)
class Reference:
    """Vectors of other examples' tokens at one site."""

    vectors: Float[torch.Tensor, "token *shape"]
    seed: int = 0
    _centers: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)

    def edit(self, name: str, k: int = 0, **where: Unpack[Where]) -> PlacedEdit:
        """The edit of a name in EDITS, made of these vectors, with ``k`` clusters where it needs them."""
        return EDITS[name](self, k, where)

    def centers(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The centers of k clusters and their scale, computed once."""
        if k not in self._centers:
            self._centers[k] = find_centers(self.vectors, k, self.seed)
        return self._centers[k]


QUANTIZE = "snap"  # of k clusters, which a recipe says; others know of none
EDITS: dict[str, Callable[[Reference, int, Where], PlacedEdit]] = {
    "zero": lambda _, __, where: edits.zero(**where),
    "one": lambda _, __, where: edits.one(**where),
    "mean": lambda reference, _, where: edits.mean(reference.vectors, **where),
    "resample": lambda reference, _, where: edits.resample(
        reference.vectors, reference.seed, **where
    ),
    QUANTIZE: lambda reference, k, where: edits.snap(*reference.centers(k), **where),
    "one_hot": lambda _, __, where: edits.one_hot(**where),
}


def read_references(
    model: Language, pairs: Pairs, sites: Sequence[str], seed: int = 0
) -> dict[str, Reference]:
    """The vectors of all real tokens at every site."""
    rows = read_block(model, pairs, sites, model.config.pad).rows
    if missing := [site for site in sites if site not in rows]:
        raise InputError(f"{missing[0]} is an attention map: sweeps edit vectors")
    return {site: Reference(torch.from_numpy(vectors), seed) for site, vectors in rows.items()}


def find_centers(
    reference: Float[torch.Tensor, "token *shape"], k: int, seed: int = 0
) -> tuple[Float[torch.Tensor, "*head cluster d"], Float[torch.Tensor, "*head d"]]:
    """The centers of k-means on standardized dimensions, and the scale they were divided by."""
    if reference.ndim == 3:
        fits = [find_centers(array, k, seed) for array in reference.unbind(1)]
        return torch.stack([array for array, _ in fits]), torch.stack([array for _, array in fits])
    vectors = reference.double().numpy()
    scale = fill_unvaried(vectors.std(0))
    fits = fit_means(vectors / scale, k, seed, N_INIT, "snap: the reference")
    centers = np.asarray(fits.cluster_centers_) * scale
    return torch.from_numpy(centers).float(), torch.from_numpy(scale).float()


Count = Annotated[int, Field(gt=0)]


class RecipeData(Settings, strict=True):
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


class Recipe(RecipeData, strict=True):
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
