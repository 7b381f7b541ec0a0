"""The points of a sweep: an edit at a strength, on heads of sites, and how it is made of references."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tprprobe.interventions.batched_edits import Variant
from tprprobe.interventions.references import EDITS, Reference
from tprprobe.interventions.sweep_recipes import Recipe
from tprprobe.site.patterns import layer_of

ALL = -1  # heads
PLACE = ["site", "layer", "head", "edit", "k", "strength"]
UNEDITED = "none"


@dataclass(frozen=True)
class Point:
    """One variant of a sweep: its sites, head and edit (k is for ``snap``)."""

    sites: tuple[str, ...]
    head: int
    edit: str
    k: int
    strength: float

    @property
    def label(self) -> str:
        return self.sites[0] if len(self.sites) == 1 else " + ".join(self.sites)

    def row(self) -> dict[str, Any]:
        layer = layer_of(self.sites[0]) if len(self.sites) == 1 else None
        at = {"site": self.label, "layer": ALL if layer is None else layer, "head": self.head}
        return at | {"edit": self.edit, "k": self.k, "strength": self.strength}


NOTHING = Point((UNEDITED,), ALL, UNEDITED, 0, 0.0)


def list_points(
    recipe: Recipe, sites: tuple[str, ...], reference: dict[str, Reference]
) -> Iterator[Point]:
    """The points of a group of sites; a site without heads has no choice of head."""
    shapes = {reference[site].vectors.shape[1:] for site in sites}
    has_heads = all(len(shape) == 2 for shape in shapes)
    heads = (
        range(min(shape[0] for shape in shapes)) if has_heads and recipe.heads == "each" else (ALL,)
    )
    for head, edit, strength in product(heads, recipe.edits, recipe.strengths):
        for k in recipe.clusters if EDITS[edit].clustered else (0,):
            yield Point(sites, head, edit, k, strength)


def make_variant(point: Point, reference: dict[str, Reference]) -> Variant:
    """The edits of a point, by site."""
    if point.edit == UNEDITED:
        return {}
    heads = None if point.head == ALL else [point.head]
    where = {"k": point.k, "heads": heads, "strength": point.strength}
    return {site: reference[site].edit(point.edit, **where) for site in point.sites}
