"""The shares of variance of a scheme's steps, unbiased, in the rows of its scores: whether and how much a state binds."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int
from scipy import stats
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.binding_claims import FEWEST_TWINS
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES, Design
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.components import (
    BINDINGS,
    BY_LENGTH,
    FILLERS,
    ROLES,
    STEPS,
    BindingComponents,
    narrow,
)
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, FACTORED
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.estimators.bindings.pairs import starts_of
from tprprobe.evaluation.results import Row
from tprprobe.evaluation.splits import stand_first
from tprprobe.statistics import FEWEST_GROUPS

PLACES = {BAG: ("share", FILLERS), ADDITIVE: ("share", ROLES), FACTORED: ("share", BINDINGS)}
MAX_CELLS = 5_000_000  # of the pairs that a unit's tokens and roles could be


class IndependentStates(NamedTuple):
    """The states by which shares are measured, as few numbers each, with the rows and documents of their units."""

    rows: Int[np.ndarray, " unit"]
    states: Float64[np.ndarray, "unit d"]
    groups: Int[np.ndarray, " unit"]

    @classmethod
    def read(cls, units: Units, seed: int) -> "IndependentStates":
        """Those of units: a model gives the same text the same states, so of units with one sequence those of one document count."""
        rows = np.flatnonzero(stand_first(units.groups, units.origin.sequences))
        rows = _limit(units, rows, seed)
        return cls(rows, narrow(units.vectors.load()[rows], seed), units.groups[rows])


def measure_shares(
    units: Units,
    design: Design,
    independent: IndependentStates,
    estimator: BindingComponents,
    steps: Sequence[str] = STEPS,
) -> dict[str, Row]:
    """By family the columns ``share…`` (of additive fits also ``share_by_length…``) of its row; none where units or documents are
    too few. An estimator that has measured the same design is fast.
    """
    if len(np.unique(independent.groups)) < FEWEST_GROUPS:
        return {}
    estimator.steps = steps
    counts = _count(units, design, independent.rows)
    try:
        table = estimator.fit(counts, independent.states, independent.groups).shares_
    except InputError:  # too few units
        return {}
    found = {row["step"]: row for row in table.to_dict("records")}
    columns = {family: _columns(name, found[step]) for family, (name, step) in PLACES.items() if step in found}  # fmt: skip
    if BY_LENGTH in found:
        columns[ADDITIVE] |= _columns("share_by_length", found[BY_LENGTH])
    return columns


def compare_shares(rows: Mapping[str, Row], twins: Sequence[str]) -> None:
    """Adds to the row of bindings the share with shuffled roles, and how much larger its own is than those of baseline models;
    ``rows`` are by control.

    The interval is that of the difference between one more model of their kind and their mean, so that such a model is
    called learned in 2.5 % of cases, however they differ: share − mean ± t s √(1 + 1/n) (Student's t, n − 1 degrees of freedom).
    Fewer than three models have no interval.
    """
    row, shuffled = rows[""], rows.get(SHUFFLED_ROLES, {})
    row |= {f"share_shuffled{end}": shuffled.get(f"share{end}", np.nan) for end in ("", "_low", "_high")}  # fmt: skip
    known = np.array([rows[twin].get("share", np.nan) for twin in twins if twin in rows])
    known = known[np.isfinite(known)]
    if len(known) and "share" in row:
        n, learned, half = len(known), row["share"] - known.mean(), np.nan
        if n >= FEWEST_TWINS:
            half = stats.t.ppf(0.975, n - 1) * known.std(ddof=1) * np.sqrt(1 + 1 / n)
        row |= _columns(
            "share_learned", {"share": learned, "low": learned - half, "high": learned + half}
        )


def _limit(units: Units, rows: np.ndarray, seed: int) -> np.ndarray:
    """The rows, or as many random ones as have MAX_CELLS."""
    cells = np.sum(
        [np.diff(members.indptr)[rows].astype(float) ** 2 for members in units.members], 0
    )
    if cells.sum() <= MAX_CELLS:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    return np.sort(rows[order[np.cumsum(cells[order]) <= MAX_CELLS]])


def _columns(name: str, row: Mapping[Any, object]) -> Row:
    return {name: row["share"], f"{name}_low": row["low"], f"{name}_high": row["high"]}


def _count(units: Units, design: Design, rows: np.ndarray) -> list[PairCounts]:
    """The pairs of every part of the units, and how many tokens it has."""
    starts = starts_of(design.parts)
    return [
        PairCounts(csr_array(design.counts[:, a:b])[rows], pairs.filler_of, pairs.role_of, np.diff(members.indptr)[rows])
        for pairs, members, (a, b) in zip(design.parts, units.members, pairwise(starts), strict=True)
    ]  # fmt: skip
