"""One example instead of a data set: a model's roles and attention while it reads and writes."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tprprobe.data.dataset import Dataset
from tprprobe.extraction.blocks import Target, extract
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import match
from tprprobe.store import Store

SITES = ("*.role", "*.attention")


@dataclass(frozen=True)
class OneExample(Dataset[Any]):
    """A text or image alone."""

    example: Any

    def read(self, rows: range) -> Iterator[Any]:
        return (self.example for _ in rows)


def extract_one(
    model: Model, example: Any, out: str | os.PathLike[str], target: Target = "generated"
) -> Store:
    """The store of one example: its roles and attention (all vectors of a model that has neither), and the
    answer that the model wrote.
    """
    data = OneExample("asked", "asked", 0, range(1), example)
    sites = list(find_sites(model))
    names = [name for name in SITES if match(name, sites)]
    return extract(model, data, names or None, out, 1, target, control=False)
