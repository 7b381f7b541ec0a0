"""Arrays whose rows are the tokens of a table, or its samples: a dump that needs nothing but both."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.site.patterns import side_of
from tprprobe.store.dumps.attention_maps import Maps, Numbers, spec_of_maps
from tprprobe.store.dumps.dump import Block, Dump, count_rows, spans, vector_spec
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec

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
        specs |= {name: spec_of_maps(path, name, each, table) for name, each in maps.items()}
        self.specs = specs
        if len({len(each.shapes) for each in maps.values()}) > 1:
            raise InputError(f"{path}: its attention maps are not all of the same samples")

    def _spec(self, name: str) -> SiteSpec:
        array = self.arrays[name]
        side, samples = side_of(name), self.table["sample"].nunique()
        tokens = int((self.table["side"] == side).sum())
        rows = {samples: SAMPLE, tokens: side}.get(array.shape[0] if array.shape else -1)
        if rows is None:
            raise InputError(
                f"{self.path}: {name} has shape {tuple(array.shape)}, but the table has {tokens} {side} "
                f"tokens of {samples} samples: an array has one row for every token, or one for every sample"
            )
        if (
            rows == SAMPLE
            and self.table.loc[self.table["side"] == SIDES[0], "sample"].nunique() < samples
        ):
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
            yield Block(values, self.table.iloc[place], self._maps(start, stop))

    def _maps(self, first: int, last: int) -> dict[str, list[np.ndarray]]:
        """The maps of samples, if there are any of these."""
        held = {name: range(first, min(last, len(each.shapes))) for name, each in self.maps.items()}
        return {name: [self.maps[name][i] for i in some] for name, some in held.items() if some}
