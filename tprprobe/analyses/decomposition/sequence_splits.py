"""The division of units: those to test on, those that rank and penalty are judged on, the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.withheld_pairs import have, withhold

TEST_SHARE, JUDGED_SHARE = 0.25, 0.2
INNER_UNITS = 0.25  # of the units, lost to pairs that are withheld to choose a rank
CLEAN, INNER, OUTER, TEST = range(4)
Labels = Int[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Division:
    """The part of every unit: to test on, with a withheld pair (OUTER), with one that is withheld within the
    others to choose a rank (INNER), or with none (CLEAN); and which units choices are judged on.
    """

    parts: Labels
    judged: Bool[np.ndarray, " unit"]
    unseen: Bool[np.ndarray, " unit"]


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
    parts: Sequence[Pairs],
    test: Bool[np.ndarray, " unit"],
    judged: Bool[np.ndarray, " unit"],
    share: float,
    rng: np.random.Generator,
    inner_share: float | None = None,
) -> Division:
    """The parts of all units: a share of the pairs of the first part (a unit's own tokens) is withheld from
    the clean and the inner ones, another (by default the same, or a tenth) from the clean ones.
    """
    x, of = csr_array(counts[:, : len(parts[0])]), parts[0]
    unseen = have(x, withhold(csr_array(x[np.flatnonzero(~test)]), of, share, rng))
    rest = np.flatnonzero(~test & ~unseen)
    part = inner_share or share or 0.1
    inner = have(x, withhold(csr_array(x[rest]), of, part, rng, INNER_UNITS))
    kind = np.where(unseen, OUTER, np.where(inner, INNER, CLEAN))
    return Division(np.where(test, TEST, kind), judged, unseen)
