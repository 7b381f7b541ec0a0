"""Held-out scores of fits, beside their controls, with intervals over sequences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from tprprobe.analyses.decomposition.role_fields import spans_of
from tprprobe.analyses.decomposition.sequence_units import Units, UnitVectors
from tprprobe.statistics import bounds, divide, replicate_totals
from tprprobe.store.dask_workers import each_part

REPLICATES = 1000
COVARIANCE_UNITS = 50_000  # that covariances are measured on, at most

Vectors = Float64[np.ndarray, "unit d_model"]
Decoder = Callable[[np.ndarray, list[list[str]]], Any]  # which of the sequences come back whole


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions that are scored, on which units to test on, and the row and columns that scores go to."""

    columns: dict[str, Any]
    predict: Callable[[slice, Any], Any]
    mean: Float64[np.ndarray, " d_model"]
    units: Bool[np.ndarray, " unit"]
    suffix: str = ""


def covariance_of(units: Units, test: Bool[np.ndarray, " unit"]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the vectors that are not tested on (of the first COVARIANCE_UNITS)."""
    second, first, n = np.zeros((units.width, units.width)), np.zeros(units.width), 0
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
        return cls(vectors.store, vectors.site, vectors.rows, vectors.step, mean, scaled, seed)

    def blocks(self, part: slice = slice(None)) -> Iterator[tuple[slice, Vectors]]:
        """The vectors in the units' blocks."""
        for block, vectors in super().blocks(part):
            rng = np.random.default_rng((self.seed, block.start))
            yield block, self.mean + rng.normal(size=vectors.shape) @ self.axes.T


def score(
    units: Units,
    vectors: UnitVectors,
    rows: Sequence[Prediction],
    decoder: Decoder | None = None,
) -> list[dict[str, float]]:
    """R² of every row over its units, and the share that the decoder reads back, with intervals.

    The names of scores have a place for what the units are: ``r2{}_low``. R² is 1 − Σ|e − ê|² / Σ|e − ē|², ē the mean of the fitted units; sequences (documents) are drawn.
    """
    sums = np.zeros((len(rows), 4, int(units.groups.max()) + 1))
    texts = sequences_of(units) if decoder else []
    add_up = partial(_add_up, vectors, units.groups, rows, decoder, texts)
    for groups, found in each_part(add_up, vectors.parts()):
        sums[:, :, groups] += found
    return _intervals(sums, decoder is not None)


def _add_up(
    vectors: UnitVectors,
    groups: np.ndarray,
    rows: Sequence[Prediction],
    decoder: Decoder | None,
    texts: list[list[str]],
    part: slice,
) -> tuple[np.ndarray, Float64[np.ndarray, "line term group"]]:
    """The groups of some units, and of every row and group: errors, those of the mean, what is read
    back, units.
    """
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
                terms[2] = np.asarray(decoder(predicted, [texts[i] for i in numbered]), float)
            for total, term in zip(into, terms, strict=True):
                total += np.bincount(group[of], term, len(known))
    return known, sums


def _intervals(
    sums: Float64[np.ndarray, "line term group"], decoded: bool
) -> list[dict[str, float]]:
    found: list[dict[str, float]] = []
    drawn: dict[bytes, tuple[Any, list[int]]] = {}
    for i, line in enumerate(sums):
        held = line[3] > 0
        drawn.setdefault(held.tobytes(), (held, []))[1].append(i)
    results: dict[int, dict[str, float]] = {}
    for held, lines in drawn.values():
        n = int(held.sum())
        if not n:
            results |= {i: {"r2{}": np.nan, "n{}": 0} for i in lines}
            continue
        flat = sums[lines][:, :, held].reshape(-1, n).T
        totals = replicate_totals(flat, REPLICATES).reshape(REPLICATES, len(lines), 4)
        whole = flat.sum(0).reshape(1, len(lines), 4)
        values, replicates = _statistics(whole), _statistics(totals)
        low, high = bounds(replicates, n)
        for place, i in enumerate(lines):
            names = ("r2", "substitution") if decoded else ("r2",)
            results[i] = {"n{}": int(whole[0, place, 3])} | {
                name + "{}" + end: float(of[place, k])
                for k, name in enumerate(names)
                for end, of in (("", values[0]), ("_low", low), ("_high", high))
            }
    found += [results[i] for i in range(len(sums))]
    return found


def _statistics(totals: np.ndarray) -> np.ndarray:
    """R² and the share read back: [replicate, line, 2]."""
    errors, of_mean, read, n = np.moveaxis(totals, -1, 0)
    return np.stack([1 - divide(errors, of_mean), divide(read, n)], -1)


def sequences_of(units: Units) -> list[list[str]]:
    """The fillers of every sample."""
    fillers = units.tokens["filler"].to_list()
    return [fillers[span] for span in spans_of(units.tokens)]
