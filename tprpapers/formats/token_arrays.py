"""Arrays whose rows are the tokens of a table, or its samples: a dump that needs nothing but both."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Integer, Shaped

from tprprobe.errors import InputError
from tprprobe.site.patterns import ATTENTION, side_of, sides_of
from tprprobe.store.dumps.dump import Block, Dump, count_rows, spans, vector_spec
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec

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

    def __getitem__(self, sample: int) -> Shaped[np.ndarray, "head query key"]:
        start = int(self.sizes[:sample].sum())
        rows = self.pairs[start : start + int(self.sizes[sample])]
        return rows.reshape(*self.shapes[sample], rows.shape[1]).transpose(2, 0, 1)


def rows_of_maps(name: str) -> str:
    """The rows of a site of maps: ``source_source``, ``target_source`` or ``target_target``."""
    return "_".join(sides_of(name))


def take_maps(path: Path, arrays: dict[str, Numbers]) -> dict[str, Maps]:
    """Takes the attention maps, and the arrays of their shapes, out of the arrays of a file."""
    maps, keys = {}, set()
    for name in [name for name in arrays if name.endswith(ATTENTION)]:
        keys.add(key := rows_of_maps(name) + SHAPE)
        if key not in arrays:
            raise InputError(
                f"{path}: {name} needs an array {key} [sample, 2]: the queries and keys of every sample"
            )
        shapes = arrays[key][slice(0, None)]
        if shapes.ndim != 2 or shapes.shape[1] != 2 or shapes.dtype.kind not in "iu":
            raise InputError(
                f"{path}: the shapes of {name} are {shapes.shape} {shapes.dtype}, not [sample, 2] whole numbers"
            )
        maps[name] = Maps(arrays.pop(name), shapes.astype(np.int64))
    for key in keys:
        del arrays[key]
    return maps


def spec_of_maps(path: Path, name: str, maps: Maps, table: pd.DataFrame) -> SiteSpec:
    """The layout of a site of maps, if they fit the tokens."""
    counts = [count_rows(table, side, len(maps.shapes)) for side in sides_of(name)]
    tokens = np.stack(counts, 1)[: len(maps.shapes)]
    wrong = np.flatnonzero((maps.shapes != tokens).any(1))
    if len(wrong):
        sizes = [
            " × ".join(map(str, sizes_of_sample[wrong[0]]))
            for sizes_of_sample in (maps.shapes, tokens)
        ]
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


NAME = re.compile(r"\w+(\.\w+)*")


class TokenArrays(Dump):
    """Arrays, one a site, and the table of their tokens (as `symbols.read_table` returns it)."""

    def __init__(
        self,
        path: Path,
        arrays: Mapping[str, Numbers],
        table: pd.DataFrame,
        maps: Mapping[str, Maps] = MappingProxyType({}),
    ):
        self.path, self.arrays, self.table, self.maps = path, arrays, table, maps
        for name in (*arrays, *maps):
            if not NAME.fullmatch(name):
                raise InputError(
                    f"{path}: {name!r} is no name of a site: give one like layers.0.hidden"
                )
        specs = {name: self._spec(name) for name in arrays}
        specs |= {
            name: spec_of_maps(path, name, site_maps, table) for name, site_maps in maps.items()
        }
        self.specs = specs
        if len({len(site_maps.shapes) for site_maps in maps.values()}) > 1:
            raise InputError(f"{path}: its attention maps are not all of the same samples")

    def _spec(self, name: str) -> SiteSpec:
        array = self.arrays[name]
        side, samples = side_of(name), self.table["sample"].nunique()
        tokens = int((self.table["side"] == side).sum())
        rows = {samples: SAMPLE, tokens: side}.get(array.shape[0] if array.shape else -1)
        sources = self.table.loc[self.table["side"] == SIDES[0], "sample"].nunique()
        if rows is None:
            raise InputError(
                f"{self.path}: {name} has shape {tuple(array.shape)}, but the table has {tokens} {side} "
                f"tokens of {samples} samples: an array has one row for every token, or one for every sample"
            )
        if rows == SAMPLE and sources < samples:
            raise InputError(
                f"{self.path}: {name} has one row for every sample, but some samples have no source tokens"
            )
        return vector_spec(name, rows, array.shape[1:], array.kind, self.path)

    def blocks(self, first: int) -> Iterator[Block]:
        samples = self.table["sample"].to_numpy()
        total = int(samples[-1]) + 1 if len(samples) else 0
        counts = {rows: count_rows(self.table, rows, total) for rows in (*SIDES, SAMPLE)}
        sizes = np.zeros(total, int)
        for name, spec in self.specs.items():
            rows = self.maps[name].sizes if name in self.maps else counts[spec.rows]
            sizes[: len(rows)] += rows * spec.row_bytes
        ends = {rows: np.append(0, np.cumsum(each)) for rows, each in counts.items()}
        for start, stop in spans(sizes, first):
            place = slice(*np.searchsorted(samples, [start, stop]))
            values = {}
            for name, array in self.arrays.items():
                row, end = ends[self.specs[name].rows][[start, stop]].tolist()
                values[name] = np.asarray(array[row:end])
            maps = {
                name: [each[i] for i in range(start, min(stop, len(each.shapes)))]
                for name, each in self.maps.items()
                if start < len(each.shapes)
            }
            yield Block(values, self.table.iloc[place], maps)
