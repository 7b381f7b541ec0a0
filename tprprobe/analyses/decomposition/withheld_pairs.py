"""Pairs that no fitting unit has: whether a decomposition predicts them says if its binding is systematic."""

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_counts import Pairs

SEEN = 5  # fitting units that have a pair that may be withheld
MOST_UNITS = 0.5  # of the units may be lost


def withhold(
    counts: csr_array,
    pairs: Pairs,
    share: float,
    rng: np.random.Generator,
    most_units: float = MOST_UNITS,
) -> Bool[np.ndarray, " pair"]:
    """A random share of the pairs that units have, as flags.

    A filler or role keeps at least half of its pairs, and at most a share ``most_units`` of the units
    have a withheld one: where withholding a pair would cost more, another one is drawn.
    """
    units = counts.tocsc()
    seen = np.diff(units.indptr)
    kept = [np.bincount(of[seen > 0], minlength=1 + of.max(initial=0)) for of in _axes(pairs)]
    least = [np.ceil(each / 2) for each in kept]
    lost = np.zeros(len(counts.indptr) - 1, bool)
    wanted, most = round(share * np.sum(seen > 0)), most_units * len(lost)
    withheld = np.zeros(len(pairs), bool)
    for pair in rng.permutation(np.flatnonzero(seen >= SEEN)):
        if withheld.sum() >= wanted:
            break
        rows = units.indices[units.indptr[pair] : units.indptr[pair + 1]]
        at = [of[pair] for of in _axes(pairs)]
        enough = all(k[i] - 1 >= m[i] for k, m, i in zip(kept, least, at, strict=True))
        if enough and lost.sum() + np.sum(~lost[rows]) <= most:
            withheld[pair] = lost[rows] = True
            for each, i in zip(kept, at, strict=True):
                each[i] -= 1
    return withheld


def have(counts: csr_array, pairs: Bool[np.ndarray, " pair"]) -> Bool[np.ndarray, " unit"]:
    """The units that have any of the pairs."""
    return np.asarray(counts @ pairs.astype(float)).reshape(-1) > 0


def _axes(pairs: Pairs) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
    return pairs.filler_of, pairs.role_of
