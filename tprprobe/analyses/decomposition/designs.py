"""Designs: how often units have a scheme's pairs, as they are or with pairs shuffled, and one pass over vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
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
    tokens = units.tokens
    pairs, found = find_pairs(tokens["filler"].to_numpy(), scheme.label(tokens))
    test, judged = divide_groups(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    counts = [count_pairs(of, pairs, found) for of in units.members]
    every = [pairs] * len(counts)
    division = divide(counts, every, test, judged, share, rng)
    yield Design(scheme, AS_IS, every, counts, division, units.groups)
    sample = tokens["sample"].to_numpy()
    within, across = permute_within(sample, rng), rng.permutation(len(tokens))
    for control, shuffled in (
        (SHUFFLED_ROLES, [(filler, role[within]) for filler, role in found]),
        (SHUFFLED_FILLERS, [(filler[across], role) for filler, role in found]),
    ):
        occurring = _occurring(pairs, shuffled)
        counts = [count_pairs(of, occurring, shuffled) for of in units.members]
        every = [occurring] * len(counts)
        yield Design(scheme, control, every, counts, division, units.groups)


def _occurring(pairs: Pairs, found: Sequence[Occurrences]) -> Pairs:
    """The pairs that occur among these, with the same fillers and roles."""
    n = len(pairs.roles)
    codes = np.unique(np.concatenate([f[r >= 0] * n + r[r >= 0] for f, r in found]))
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
    cross = [[np.zeros((x.shape[1], vectors.width)) for x in of] for of in counts]
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
