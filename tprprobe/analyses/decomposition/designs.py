"""Designs: a role scheme's pair counts of all units, as they are or with pairs shuffled, in one pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Occurrences, Pairs, count_pairs, find_pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.sequence_splits import (
    PARTS,
    TEST,
    Division,
    Labels,
    divide,
    divide_groups,
)
from tprprobe.analyses.decomposition.sequence_units import Units, UnitVectors
from tprprobe.statistics import permute_within
from tprprobe.store.dask_workers import each_part

Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
AS_IS, SHUFFLED_ROLES, SHUFFLED_FILLERS = "", "shuffled roles", "shuffled fillers"


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs of a scheme, their counts X [unit, pair] and the units' parts; ``control`` says what
    was shuffled.
    """

    scheme: RoleScheme
    control: str
    pairs: Pairs
    counts: csr_array
    division: Division

    def rows(self, part: int) -> csr_array:
        """The counts of the units of a part."""
        return csr_array(self.counts[np.flatnonzero(self.division.parts == part)])


def design(units: Units, scheme: RoleScheme, share: float, seed: int) -> Iterator[Design]:
    """The design of a scheme and its two shuffled controls.

    Roles are permuted within every sequence; fillers across all sequences.
    """
    tokens = units.tokens
    pairs, found = find_pairs(tokens["filler"].to_numpy(), scheme.label(tokens))
    test, judged = divide_groups(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    counts = count_pairs(units.members, pairs, found)
    division = divide(counts, pairs, test, judged, share, rng)
    yield Design(scheme, AS_IS, pairs, counts, division)
    plain = replace(division, parts=np.where(test, TEST, judged.astype(int)), withheld=0)
    sample = tokens["sample"].to_numpy()
    within, across = permute_within(sample, rng), rng.permutation(len(tokens))
    for control, shuffled in (
        (SHUFFLED_ROLES, [(filler, role[within]) for filler, role in found]),
        (SHUFFLED_FILLERS, [(filler[across], role) for filler, role in found]),
    ):
        occurring = _occurring(pairs, shuffled)
        counts = count_pairs(units.members, occurring, shuffled)
        yield Design(scheme, control, occurring, counts, plain)


def _occurring(pairs: Pairs, found: Sequence[Occurrences]) -> Pairs:
    """The pairs that occur among these, with the same fillers and roles."""
    n = len(pairs.roles)
    codes = np.unique(np.concatenate([f[r >= 0] * n + r[r >= 0] for f, r in found]))
    return replace(pairs, filler_of=codes // n, role_of=codes % n)


def gather(vectors: UnitVectors, designs: Sequence[Design]) -> list[list[PairMoments]]:
    """The moments of every design, part by part, from one pass over the vectors."""
    width = vectors.width
    cross = [np.zeros((PARTS, len(each.pairs), width)) for each in designs]
    total, squares = np.zeros((len(designs), PARTS, width)), np.zeros((len(designs), PARTS))
    counted = [(each.counts, each.division.parts) for each in designs]
    for found in each_part(partial(_sum_up, vectors, counted), vectors.parts()):
        for i, (pairs, of_pairs, of_units, of_squares) in enumerate(found):
            cross[i][:, pairs] += of_pairs
            total[i] += of_units
            squares[i] += of_squares
    return [
        [
            PairMoments(each.rows(part), cross[i][part], total[i, part], float(squares[i, part]))
            for part in range(PARTS)
        ]
        for i, each in enumerate(designs)
    ]


def _sum_up(
    vectors: UnitVectors, counted: Sequence[tuple[csr_array, Labels]], rows: slice
) -> list[Sums]:
    """The pairs that some units have, with XᵀE, Σ e and Σ |e|² by part, of every design."""
    width = vectors.width
    designs, sums = [], []
    for counts, parts in counted:
        x = csr_array(counts[rows])
        pairs = np.unique(x.indices)
        designs.append((csr_array(x[:, pairs]), parts[rows]))
        of_units = np.zeros((PARTS, width)), np.zeros(PARTS)
        sums.append((pairs, np.zeros((PARTS, len(pairs), width)), *of_units))
    for units, block in vectors.blocks(rows):
        at, sizes = slice(units.start - rows.start, units.stop - rows.start), np.sum(block**2, 1)
        for (counts, labels), (_, cross, total, squares) in zip(designs, sums, strict=True):
            x, parts = csr_array(counts[at]), labels[at]
            for part in np.unique(parts):
                of = np.flatnonzero(parts == part)
                cross[part] += x[of].T @ block[of]
                total[part] += block[of].sum(0)
                squares[part] += sizes[of].sum()
    return sums
