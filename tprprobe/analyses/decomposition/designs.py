"""Designs: how often units have a scheme's pairs, as they are or with pairs shuffled, and one pass over vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Occurrences, Pairs, count_pairs, find_pairs
from tprprobe.analyses.decomposition.ridge import Regression
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.sequence_splits import (
    CLEAN,
    INNER,
    TEST,
    Division,
    divide,
    divide_groups,
)
from tprprobe.analyses.decomposition.sequence_units import Units, VectorBlocks
from tprprobe.analyses.decomposition.unit_kinds import (
    Entries,
    UnitKind,
    entries_of_tokens,
    entries_of_units,
)
from tprprobe.statistics import permute_within
from tprprobe.store.dask_workers import each_part

AS_IS, SHUFFLED_ROLES, SHUFFLED_FILLERS = "", "shuffled roles", "shuffled fillers"
Rows = Int[np.ndarray, " row"]


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs of a scheme and their counts X [unit, pair], part by part (a unit's own tokens; their
    context), and the units' division; ``control`` says what was shuffled.
    """

    scheme: RoleScheme
    control: str
    pairs: Sequence[Pairs]
    counts: Sequence[csr_array]
    division: Division
    groups: Int[np.ndarray, " unit"]

    def rows(self, which: Bool[np.ndarray, " unit"]) -> list[csr_array]:
        """The counts of some units."""
        return [csr_array(each[np.flatnonzero(which)]) for each in self.counts]

    @property
    def test(self) -> Bool[np.ndarray, " unit"]:
        return self.division.parts == TEST

    @property
    def fitted(self) -> list[Bool[np.ndarray, " unit"]]:
        """All fitting units, those without withheld pairs, and all units."""
        parts = self.division.parts
        return [parts != TEST, (parts == CLEAN) | (parts == INNER), np.ones(len(parts), bool)]


def design(units: Units, scheme: RoleScheme, share: float, seed: int) -> Iterator[Design]:
    """The design of a scheme and its two shuffled controls.

    Roles are permuted within every sequence; fillers across all sequences.
    """
    entries = enter(scheme, units.kind, units.tokens, units.members)
    terms = scheme.label(units.tokens, entries)
    pairs, found = find_pairs(units.fillers[entries.token], terms)
    test, judged = divide_groups(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    every, counts = _count(entries, pairs, found)
    division = divide(counts, every, test, judged, share, rng)
    yield Design(scheme, AS_IS, every, counts, division, units.groups)
    within, across = permute_within(entries.group, rng), rng.permutation(len(units.tokens))
    filler = pairs.fillers.get_indexer(pd.Index(units.fillers[across][entries.token]))
    for control, shuffled in (
        (SHUFFLED_ROLES, [(filler, role[within]) for filler, role in found]),
        (SHUFFLED_FILLERS, [(np.where(known < 0, known, filler), role) for known, role in found]),
    ):
        every, counts = _count(entries, occurring(pairs, shuffled), shuffled)
        yield Design(scheme, control, every, counts, division, units.groups)


def enter(
    scheme: RoleScheme, kind: UnitKind, tokens: pd.DataFrame, members: list[csr_array]
) -> Entries:
    """What units are made of: tokens, or, where roles are relative to the unit, pairs of unit and token.

    Raises:
        InputError: the roles cannot distinguish the units.
    """
    kind.check(scheme.name, scheme.relative)
    if not any(scheme.relative):
        return entries_of_tokens(members, tokens)
    at = kind.places(tokens)
    assert at is not None
    return entries_of_units(members, at)


def _count(
    entries: Entries, pairs: Pairs, found: Sequence[Occurrences]
) -> tuple[list[Pairs], list[csr_array]]:
    """The pairs that every part has, and their counts."""
    every, counts = [], []
    for of in entries.members:
        whole = count_pairs(of, pairs, found)
        held = np.unique(whole.indices)
        every.append(replace(pairs, filler_of=pairs.filler_of[held], role_of=pairs.role_of[held]))
        counts.append(csr_array(whole[:, held]))
    return every, counts


def occurring(pairs: Pairs, found: Sequence[Occurrences]) -> Pairs:
    """The pairs that occur among these, with the same fillers and roles."""
    n = len(pairs.roles)
    known = [(f[(f >= 0) & (r >= 0)], r[(f >= 0) & (r >= 0)]) for f, r in found]
    codes = np.unique(np.concatenate([f * n + r for f, r in known]))
    return replace(pairs, filler_of=codes // n, role_of=codes % n)


def gather(vectors: VectorBlocks, designs: Sequence[Design]) -> list[list[Regression]]:
    """The regressions of every design on the units that it is fitted to (of a control, all fitting units
    alone), from one pass over the vectors.
    """
    asked = [
        (i, rows)
        for i, of in enumerate(designs)
        for rows in of.fitted[: None if of.control == AS_IS else 1]
    ]
    counts = [[csr_array(each) for each in designs[i].counts] for i, _ in asked]
    cross = [[np.zeros((np.shape(x)[1], vectors.width)) for x in of] for of in counts]
    total = np.zeros((len(asked), vectors.width))
    masked = [(of, rows) for of, (_, rows) in zip(counts, asked, strict=True)]
    for found in each_part(partial(_sum_up, vectors, masked), vectors.parts()):
        for j, (of_parts, of_units) in enumerate(found):
            total[j] += of_units
            for into, (pairs, values) in zip(cross[j], of_parts, strict=True):
                into[pairs] += values
    regressions: list[list[Regression]] = [[] for _ in designs]
    for j, (i, rows) in enumerate(asked):
        mean = total[j] / max(1, int(rows.sum()))
        regressions[i].append(Regression(designs[i].rows(rows), cross[j], mean))
    return regressions


def _sum_up(
    vectors: VectorBlocks,
    masked: Sequence[tuple[list[csr_array], Bool[np.ndarray, " unit"]]],
    rows: slice,
) -> list[tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]]:
    """Of some units and every design: by part the pairs that they have and XᵀE, and Σ e."""
    held = []
    for counts, which in masked:
        parts = []
        for each in counts:
            x = csr_array(each[rows])
            pairs = np.unique(x.indices)
            parts.append((pairs, csr_array(x[:, pairs]), np.zeros((len(pairs), vectors.width))))
        held.append((parts, which[rows], np.zeros(vectors.width)))
    for units, block in vectors.blocks(rows):
        at = slice(units.start - rows.start, units.stop - rows.start)
        for parts, which, total in held:
            of = np.flatnonzero(which[at])
            total += block[of].sum(0)
            for _, x, cross in parts:
                cross += csr_array(x[at])[of].T @ block[of]
    return [([(pairs, cross) for pairs, _, cross in parts], total) for parts, _, total in held]
