"""Held-out scores of fits and their gains over the family below, with intervals over groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from tprprobe.analyses.decomposition.role_schemes import spans_of
from tprprobe.analyses.decomposition.sequence_units import Units, UnitVectors, VectorBlocks
from tprprobe.statistics import bounds, divide, replicate_totals
from tprprobe.store.dask_workers import each_part

REPLICATES = 1000
COVARIANCE_UNITS = 50_000  # that covariances are measured on, at most
ERRORS, OF_MEAN, READ, UNITS = range(4)  # the terms that are summed up by group

Vectors = Float64[np.ndarray, "unit d_model"]
Decoder = Callable[[np.ndarray, list[list[str]]], Any]  # which of the sequences come back whole


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions of units, the columns of their row, and the number of the row that a gain is over."""

    columns: dict[str, Any]
    predict: Callable[[slice, Any], Any]
    mean: Float64[np.ndarray, " d_model"]
    units: Bool[np.ndarray, " unit"]
    over: int | None = None


@dataclass(frozen=True, eq=False)
class Score:
    """The values of a prediction (R², the share read back, gain) and their values if other groups had been drawn."""

    values: Float64[np.ndarray, " measure"]
    replicates: Float64[np.ndarray, "replicate measure"]
    n: int
    groups: int

    def columns(self, names: Sequence[str], suffix: str = "") -> dict[str, float]:
        """The values by name, with ``_low`` and ``_high``: 95 % intervals over groups."""
        low, high = bounds(self.replicates, self.groups)
        return {
            name + suffix + end: float(of[i])
            for i, name in enumerate(("r2", "substitution", "gain"))
            for end, of in (("", self.values), ("_low", low), ("_high", high))
            if name in names
        }


def covariance_of(units: Units, test: Bool[np.ndarray, " unit"]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the vectors that are not tested on (of the first COVARIANCE_UNITS)."""
    width = units.vectors.width
    second, first, n = np.zeros((width, width)), np.zeros(width), 0
    for block, vectors in units.vectors.blocks():
        chosen = vectors[~test[block]]
        second, first, n = second + chosen.T @ chosen, first + chosen.sum(0), n + len(chosen)
        if n >= COVARIANCE_UNITS:
            break
    mean = first / max(1, n)
    return mean, second / max(1, n) - np.outer(mean, mean)


@dataclass(frozen=True, eq=False)
class NormalVectors(UnitVectors):
    """Normal vectors of a mean and covariance, the same at every pass, in place of the units'."""

    mean: Float64[np.ndarray, " d_model"]
    axes: Float64[np.ndarray, "d_model d_model"]
    seed: int

    @classmethod
    def like(
        cls, vectors: UnitVectors, mean: np.ndarray, covariance: np.ndarray, seed: int
    ) -> "NormalVectors":
        values, axes = np.linalg.eigh(covariance)
        scaled = axes * np.sqrt(np.maximum(values, 0))
        of = (vectors.store, vectors.site, vectors.rows, vectors.step, vectors.spans)
        return cls(*of, mean, scaled, seed)

    def blocks(self, part: slice = slice(None)) -> Iterator[tuple[slice, Vectors]]:
        """The vectors in the units' blocks."""
        for block, vectors in super().blocks(part):
            rng = np.random.default_rng((self.seed, block.start))
            yield block, self.mean + rng.normal(size=vectors.shape) @ self.axes.T


def score(
    units: Units,
    vectors: VectorBlocks,
    rows: Sequence[Prediction],
    decoder: Decoder | None = None,
) -> list[Score | None]:
    """The score of every row over its units; None where it has no unit.

    R² is 1 − Σ|e − ê|² / Σ|e − ē|², ē the mean of the fitted units; a gain is the difference of two R² on the
    same units; groups (documents and identical sequences) are drawn.
    """
    sums = np.zeros((len(rows), 4, int(units.groups.max()) + 1))
    fillers = units.tokens["filler"].to_list()
    texts = [fillers[span] for span in spans_of(units.tokens)] if decoder else []
    add_up = partial(_add_up, vectors, units.groups, rows, decoder, texts)
    for groups, found in each_part(add_up, vectors.parts()):
        sums[:, :, groups] += found
    return _draw(sums, [row.over for row in rows])


def _add_up(
    vectors: VectorBlocks,
    groups: np.ndarray,
    rows: Sequence[Prediction],
    decoder: Decoder | None,
    texts: list[list[str]],
    part: slice,
) -> tuple[np.ndarray, Float64[np.ndarray, "line term group"]]:
    """The groups of some units, and by row and group: errors, those of the mean, read back, units."""
    known, numbers = np.unique(groups[part], return_inverse=True)
    sums = np.zeros((len(rows), 4, len(known)))
    for block, vectors_of in vectors.blocks(part):
        chosen = np.stack([row.units[block] for row in rows])
        if not chosen.any():
            continue
        group = numbers[block.start - part.start : block.stop - part.start]
        for into, row, of in zip(sums, rows, chosen, strict=True):
            if not of.any():
                continue
            predicted = row.predict(block, vectors_of)[of]
            terms = [
                np.sum((vectors_of[of] - predicted) ** 2, 1),
                np.sum((vectors_of[of] - row.mean) ** 2, 1),
                np.zeros(of.sum()),
                np.ones(of.sum()),
            ]
            if decoder:
                numbered = np.arange(block.start, block.stop)[of]
                terms[READ] = np.asarray(decoder(predicted, [texts[i] for i in numbered]), float)
            for total, term in zip(into, terms, strict=True):
                total += np.bincount(group[of], term, len(known))
    return known, sums


def _draw(
    sums: Float64[np.ndarray, "line term group"], over: Sequence[int | None]
) -> list[Score | None]:
    drawn: dict[bytes, list[int]] = {}
    for i, line in enumerate(sums):
        drawn.setdefault((line[UNITS] > 0).tobytes(), []).append(i)
    found: list[Score | None] = [None] * len(sums)
    for lines in drawn.values():
        held = sums[lines[0], UNITS] > 0
        if not (groups := int(held.sum())):
            continue
        flat = sums[lines][:, :, held].reshape(-1, groups).T
        totals = replicate_totals(flat, REPLICATES).reshape(REPLICATES, len(lines), 4)
        whole = flat.sum(0).reshape(1, len(lines), 4)
        places = {line: place for place, line in enumerate(lines)}
        below = [-1 if (under := over[i]) is None else places.get(under, -1) for i in lines]
        values, replicates = (_statistics(each, below) for each in (whole, totals))
        for place, i in enumerate(lines):
            n = int(whole[0, place, UNITS])
            found[i] = Score(values[0, place], replicates[:, place], n, groups)
    return found


def _statistics(totals: np.ndarray, below: Sequence[int]) -> np.ndarray:
    """R², the share read back, and the gain (over the mean where nothing is below): [replicate, line, 3]."""
    errors, of_mean, read, n = np.moveaxis(totals, -1, 0)
    r2 = 1 - divide(errors, of_mean)
    lower = np.stack([r2[:, i] if i >= 0 else np.zeros(len(r2)) for i in below], 1)
    return np.stack([r2, divide(read, n), r2 - lower], -1)
