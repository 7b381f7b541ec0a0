"""Arrays whose rows are the tokens of a table, or its samples: a dump that needs nothing but both."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.site.patterns import side_of
from tprprobe.store.dumps import dump
from tprprobe.store.dumps.dump import Block, Dump, vector_spec
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec

NAME = re.compile(r"\w+(\.\w+)*")


@runtime_checkable
class Vectors(Protocol):
    """An array of which rows are read as they are needed."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> str:
        """The type of its numbers, bfloat16 too."""
        ...

    def __getitem__(self, rows: slice) -> np.ndarray: ...


class TokenArrays(Dump):
    """Arrays, one a site, and the table of their tokens (as `symbols.read_table` returns it)."""

    def __init__(self, path: Path, arrays: Mapping[str, Vectors], table: pd.DataFrame):
        self.path, self.arrays, self.table = path, arrays, table
        self.specs = {name: self._spec(name) for name in arrays}

    def _spec(self, name: str) -> SiteSpec:
        array = self.arrays[name]
        side, samples = side_of(name), self.table["sample"].nunique()
        tokens = int((self.table["side"] == side).sum())
        if not NAME.fullmatch(name):
            raise InputError(
                f"{self.path}: {name!r} is no name of a site: give one like layers.0.hidden"
            )
        rows = {samples: SAMPLE, tokens: side}.get(array.shape[0] if array.shape else -1)
        if rows is None:
            raise InputError(
                f"{self.path}: {name} has shape {tuple(array.shape)}, but the table has {tokens} {side} "
                f"tokens of {samples} samples: an array has a row a token, or a row a sample"
            )
        if (
            rows == SAMPLE
            and self.table.loc[self.table["side"] == SIDES[0], "sample"].nunique() < samples
        ):
            raise InputError(
                f"{self.path}: {name} has a row a sample, but some have no source tokens"
            )
        return vector_spec(name, rows, array.shape[1:], array.kind, self.path)

    def blocks(self, first: int) -> Iterator[Block]:
        sizes = sum(self._counts(spec.rows) * spec.row_bytes for spec in self.specs.values())
        ends = {rows: np.cumsum(self._counts(rows)) for rows in (*SIDES, SAMPLE)}
        samples = self.table["sample"].to_numpy()
        budget, total = np.cumsum(sizes), samples[-1] + 1 if len(samples) else 0
        while first < total:
            before = budget[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(budget, before + dump.BLOCK_BYTES, "right")))
            place = slice(*np.searchsorted(samples, [first, last]))
            yield (
                {
                    name: self._rows(name, ends[spec.rows], first, last)
                    for name, spec in self.specs.items()
                },
                self.table.iloc[place],
            )
            first = last

    def _counts(self, rows: str) -> np.ndarray:
        """The rows of every sample, of a kind of rows."""
        samples = self.table["sample"].to_numpy()
        total = samples[-1] + 1 if len(samples) else 0
        if rows == SAMPLE:
            return np.ones(total, int)
        return np.bincount(samples[(self.table["side"] == rows).to_numpy()], minlength=total)

    def _rows(self, name: str, ends: np.ndarray, first: int, last: int) -> np.ndarray:
        start = int(ends[first - 1]) if first else 0
        return np.asarray(self.arrays[name][start : int(ends[last - 1])])
