"""Attention maps in files of arrays: ragged, a row a pair of a query and a key with a number a head.

Pairs go query by query, samples one after another; only the first samples have any. How many queries and keys a
sample has stands beside them: in an array ``KIND.shape`` [sample, 2], or in the lists of a folder of `datasets`.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Integer, Shaped

from tprprobe.errors import InputError
from tprprobe.site.patterns import ATTENTION, sides_of
from tprprobe.store.dumps.dump import count_rows
from tprprobe.store.layout import SiteSpec

SHAPE = ".shape"


@runtime_checkable
class Numbers(Protocol):
    """An array of which rows are read as they are needed."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> str:
        """The type of its numbers, bfloat16 too."""
        ...

    def __getitem__(self, rows: slice) -> np.ndarray: ...


@dataclass(frozen=True)
class Maps:
    """The attention maps of the first samples, in an array [pair, head]."""

    pairs: Numbers
    shapes: Integer[np.ndarray, "sample 2"]

    @cached_property
    def sizes(self) -> Integer[np.ndarray, " sample"]:
        """The pairs of every sample."""
        return self.shapes.prod(1)

    @cached_property
    def _ends(self) -> Integer[np.ndarray, " sample"]:
        return np.cumsum(self.sizes)

    def __getitem__(self, sample: int) -> Shaped[np.ndarray, "head query key"]:
        end = int(self._ends[sample])
        rows = self.pairs[end - int(self.sizes[sample]) : end]
        return rows.reshape(*self.shapes[sample], rows.shape[1]).transpose(2, 0, 1)


def rows_of_maps(name: str) -> str:
    """The rows of a site of maps: ``source_source``, ``target_source`` or ``target_target``."""
    return "_".join(sides_of(name))


def take_maps(path: Path, arrays: dict[str, Numbers]) -> dict[str, Maps]:
    """Takes the attention maps, and the arrays of their shapes, out of the arrays of a file."""
    maps = {}
    for name in [name for name in arrays if name.endswith(ATTENTION)]:
        key = rows_of_maps(name) + SHAPE
        if key not in arrays:
            raise InputError(
                f"{path}: {name} needs an array {key} [sample, 2]: the queries and keys of every sample"
            )
        maps[name] = _joined(path, name, arrays.pop(name), arrays[key])
    for key in {rows_of_maps(name) + SHAPE for name in maps}:
        del arrays[key]
    return maps


def _joined(path: Path, name: str, pairs: Numbers, stored: Numbers) -> Maps:
    shapes = stored[slice(0, None)]
    if shapes.ndim != 2 or shapes.shape[1] != 2 or shapes.dtype.kind not in "iu":
        raise InputError(
            f"{path}: the shapes of {name} are {shapes.shape} {shapes.dtype}, not [sample, 2] whole numbers"
        )
    return Maps(pairs, shapes.astype(np.int64))


def spec_of_maps(path: Path, name: str, maps: Maps, table: pd.DataFrame) -> SiteSpec:
    """The layout of a site of maps, if they fit the tokens."""
    counts = [count_rows(table, side, len(maps.shapes)) for side in sides_of(name)]
    tokens = np.stack(counts, 1)[: len(maps.shapes)]
    wrong = np.flatnonzero((maps.shapes != tokens).any(1))
    if len(wrong):
        sizes = [" × ".join(map(str, each[wrong[0]])) for each in (maps.shapes, tokens)]
        raise InputError(
            f"{path}: {name}, sample {wrong[0]} has a map of {sizes[0]}, its tokens are {sizes[1]}: maps are of "
            "the first samples, with a query and a key a token"
        )
    shape = tuple(maps.pairs.shape)
    if len(shape) != 2 or shape[0] != maps.sizes.sum():
        raise InputError(
            f"{path}: {name} has shape {shape}, its samples have {maps.sizes.sum()} pairs of a query and a "
            "key: an array of maps is [pair, head]"
        )
    return SiteSpec((rows_of_maps(name), "head"), (int(shape[1]),), maps.pairs.kind)
