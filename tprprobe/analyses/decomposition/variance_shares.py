"""The shares of variance of a scheme's steps, unbiased, in the rows of its scores: whether and how much a state binds."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

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
)
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, FACTORED
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.estimators.bindings.pairs import starts_of
from tprprobe.evaluation.splits import stand_first
from tprprobe.statistics import FEWEST_GROUPS

PLACES = {BAG: ("share", FILLERS), ADDITIVE: ("share", ROLES), FACTORED: ("share", BINDINGS)}
MAX_CELLS = 30_000_000  # of the pairs that a unit's tokens and roles could be


def measure_shares(
    units: Units, design: Design, seed: int, steps: Sequence[str] = STEPS
) -> dict[str, dict[str, Any]]:
    """By family the columns ``share…`` (of additive fits also ``share_by_length…``) of its row; none where units or documents are
    too few.

    A model gives the same text the same states, so of units with one sequence those of one document count.
    """
    first = _limit(units, np.flatnonzero(stand_first(units.groups, units.origin.sequences)), seed)
    if len(np.unique(units.groups[first])) < FEWEST_GROUPS:
        return {}
    states = np.concatenate([vectors for _, vectors in units.vectors.blocks()])[first]
    try:
        estimator = BindingComponents(steps=steps, random_state=seed)
        table = estimator.fit(_count(units, design, first), states, units.groups[first]).shares_
    except InputError:  # too few units
        return {}
    found = {row["step"]: row for row in table.to_dict("records")}
    columns = {family: _columns(name, found[step]) for family, (name, step) in PLACES.items() if step in found}  # fmt: skip
    if BY_LENGTH in found:
        columns[ADDITIVE] |= _columns("share_by_length", found[BY_LENGTH])
    return columns


def compare_shares(rows: Mapping[str, dict[str, Any]], twins: Sequence[str]) -> None:
    """Adds to the row of bindings the share with shuffled roles, and how much larger its own is than that of the twin
    with the largest; ``rows`` are by control.
    """
    row = rows[""]
    row["share_shuffled"] = rows.get(SHUFFLED_ROLES, {}).get("share", np.nan)
    known = [rows[twin] for twin in twins if np.isfinite(rows.get(twin, {}).get("share", np.nan))]
    if known and "share" in row:
        other = max(known, key=lambda columns: columns["share"])
        learned = row["share"] - other["share"]
        half = np.hypot(row["share_high"] - row["share"], other["share_high"] - other["share"])
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


def _columns(name: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: row["share"], f"{name}_low": row["low"], f"{name}_high": row["high"]}


def _count(units: Units, design: Design, rows: np.ndarray) -> list[PairCounts]:
    """The pairs of every part of the units, and how many tokens it has."""
    starts = starts_of(design.parts)
    return [
        PairCounts(csr_array(design.counts[:, a:b])[rows], pairs.filler_of, pairs.role_of, np.diff(members.indptr)[rows])
        for pairs, members, (a, b) in zip(design.parts, units.members, pairwise(starts), strict=True)
    ]  # fmt: skip
