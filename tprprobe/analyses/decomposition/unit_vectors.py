"""Vectors of units, read block by block, and the moments XᵀE and ē of those that are fitted to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from tprprobe.estimators.bindings.block_products import Grams, shape_of
from tprprobe.estimators.bindings.pairs import Flags, select_units
from tprprobe.estimators.bindings.ridge import Regression
from tprprobe.store.dask_workers import ROWS_PER_PART, each_part, parts_of

FittedUnits = tuple[csr_array, Flags]  # the counts of units, and which of them are fitted to


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """Vectors that ``read_block`` gives of a range of units, ``step`` units at a time, as often as is asked for."""

    read_block: Callable[[slice], Float[np.ndarray, "unit ..."]]
    n: int
    width: int
    step: int

    @classmethod
    def of(cls, vectors: Float[np.ndarray, "unit d_model"]) -> "UnitVectors":
        """Vectors in memory."""
        n, width = vectors.shape
        return cls(vectors.__getitem__, n, width, n)

    def parts(self) -> list[slice]:
        """The units in parts of whole blocks, over which workers may be spread."""
        return parts_of(self.n, self.step * max(1, ROWS_PER_PART // self.step))

    def blocks(
        self, span: slice = slice(None)
    ) -> Iterator[tuple[slice, Float[np.ndarray, "unit d_model"]]]:
        """All vectors (of a part) in blocks, each with the units that it is of."""
        start_unit, end_unit, _ = span.indices(self.n)
        for start in range(start_unit, end_unit, self.step):
            units = slice(start, min(start + self.step, end_unit))
            vectors = self.read_block(units).reshape(units.stop - start, self.width)
            yield units, vectors.astype(np.float64, copy=False)

    def load(self) -> Float[np.ndarray, "unit d_model"]:
        """All vectors."""
        return np.concatenate([block for _, block in self.blocks()])


def fit_moments(vectors: UnitVectors, unit_sets: Sequence[FittedUnits]) -> list[Regression]:
    """The regression on every set of fitted units, from one pass over the vectors."""
    cross = [np.zeros((shape_of(counts)[1], vectors.width)) for counts, _ in unit_sets]
    totals = np.zeros((len(unit_sets), vectors.width))
    for moments in each_part(partial(_sum_part, vectors, unit_sets), vectors.parts()):
        for j, (pairs, of_pairs, total) in enumerate(moments):
            cross[j][pairs] += of_pairs
            totals[j] += total
    return [
        Regression(Grams(select_units(counts, rows)), of_pairs, total / max(1, int(rows.sum())))
        for (counts, rows), of_pairs, total in zip(unit_sets, cross, totals, strict=True)
    ]


def _sum_part(
    vectors: UnitVectors, unit_sets: Sequence[FittedUnits], span: slice
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs that some units have, with their XᵀE and Σ e, for every set of fitted units."""
    counts = [csr_array(counts[span]) for counts, _ in unit_sets]
    pairs = [np.unique(x.indices) for x in counts]
    columns = [csr_array(x[:, ids]) for x, ids in zip(counts, pairs, strict=True)]
    cross = [np.zeros((len(ids), vectors.width)) for ids in pairs]
    totals = np.zeros((len(unit_sets), vectors.width))
    for units, block in vectors.blocks(span):
        local = slice(units.start - span.start, units.stop - span.start)
        for j, (_, is_fitted) in enumerate(unit_sets):
            rows = np.flatnonzero(is_fitted[units])
            totals[j] += block[rows].sum(0)
            cross[j] += csr_array(columns[j][local])[rows].T @ block[rows]
    return list(zip(pairs, cross, totals, strict=True))
