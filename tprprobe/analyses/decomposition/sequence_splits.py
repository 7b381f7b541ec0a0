"""The division of units: those to test on, those that rank and penalty are judged on, the others."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.withheld_pairs import have, withhold

TEST_SHARE, JUDGED_SHARE = 0.25, 0.2
INNER_UNITS = 0.25  # of the units, lost to pairs that are withheld to choose a rank
CLEAN, INNER, OUTER = 0, 1, 2
PARTS, TEST = 7, 6  # 2 · (clean, inner, outer) + judged, and the units to test on
Labels = Int[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Division:
    """The part of every unit, and which units have a pair that was withheld."""

    parts: Labels
    unseen: Bool[np.ndarray, " unit"]
    withheld: int


def divide_groups(
    groups: Labels, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, " unit"], Bool[np.ndarray, " unit"]]:
    """The units to test on, and those to judge by; a group is never divided."""
    chance = rng.permutation(groups.max() + 1) / (groups.max() + 1)
    place = chance[groups]
    test = place < TEST_SHARE
    return test, ~test & (place < TEST_SHARE + JUDGED_SHARE * (1 - TEST_SHARE))


def divide(
    counts: csr_array,
    pairs: Pairs,
    test: Bool[np.ndarray, " unit"],
    judged: Bool[np.ndarray, " unit"],
    share: float,
    rng: np.random.Generator,
    inner_share: float | None = None,
) -> Division:
    """The parts of all units: a share of the pairs is withheld from the clean and the inner ones,
    another (by default the same, or a tenth) from the clean ones.
    """
    fitting = np.flatnonzero(~test)
    outer = withhold(csr_array(counts[fitting]), pairs, share, rng)
    unseen = have(counts, outer)
    rest = np.flatnonzero(~test & ~unseen)
    inner = withhold(csr_array(counts[rest]), pairs, inner_share or share or 0.1, rng, INNER_UNITS)
    kind = np.where(unseen, OUTER, np.where(have(counts, inner), INNER, CLEAN))
    return Division(np.where(test, TEST, 2 * kind + judged), unseen, int(outer.sum()))
