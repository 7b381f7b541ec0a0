"""Designs: a role scheme's pair counts of all units, as they are or with pairs shuffled, in one pass."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.pair_counts import Occurrences, Pairs, count_pairs, find_pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.sequence_splits import (
    PARTS,
    TEST,
    Division,
    divide,
    divide_groups,
)
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.statistics import permute_within

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


Blocks = Callable[[], Iterator[tuple[slice, Float64[np.ndarray, "_unit d_model"]]]]


def gather(blocks: Blocks, designs: Sequence[Design], width: int) -> list[list[PairMoments]]:
    """The moments of every design, part by part, from one pass over the vectors."""
    joint = csr_array(hstack([each.counts for each in designs], format="csr"))
    ends = np.cumsum([0, *(len(each.pairs) for each in designs)])
    cross = [np.zeros((PARTS, len(each.pairs), width)) for each in designs]
    total, squares = np.zeros((len(designs), PARTS, width)), np.zeros((len(designs), PARTS))
    for units, vectors in blocks():
        rows, sizes = joint[units], np.sum(vectors**2, 1)
        for i, each in enumerate(designs):
            x, parts = csr_array(rows[:, ends[i] : ends[i + 1]]), each.division.parts[units]
            for part in np.unique(parts):
                of = np.flatnonzero(parts == part)
                cross[i][part] += x[of].T @ vectors[of]
                total[i, part] += vectors[of].sum(0)
                squares[i, part] += sizes[of].sum()
    return [
        [
            PairMoments(each.rows(part), cross[i][part], total[i, part], float(squares[i, part]))
            for part in range(PARTS)
        ]
        for i, each in enumerate(designs)
    ]
