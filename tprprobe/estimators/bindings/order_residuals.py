"""What a unit's order adds to its bags: X̃ = X − E[X | bag of fillers b, bag of roles c].

Where every order is equally likely, E[X | b, c] is b cᵀ / Σb. In real text fillers prefer roles (a full stop the last place), so
these products are multiplied by the preference of a filler for a role in units of one length, (observed + κ) / (expected + κ)
pairs, and scaled back to the bags (iterative proportional fitting, Deming & Stephan 1940). κ is 1 / the variance of preferences
beyond chance (empirical Bayes): where there are none it is so large that nothing changes.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy.sparse import csr_array, diags_array

from tprprobe.estimators.bindings.pair_counts import PairCounts, cross_entries

OWN_PREFERENCE = 5  # units that a filler with preferences of its own has; rarer ones share theirs
N_SCALINGS = 6
LEAST_SPREAD = 1e-6  # of preferences

Numbers = Int[np.ndarray, " cell"]
Values = Float64[np.ndarray, " cell"]


def subtract_expected(counts: PairCounts) -> tuple[csr_array, float]:
    """X̃ [unit, pair] of the pairs that occur, and Σ x̃² of those that do not: a word that one unit has was expected at other places, too.

    A unit of one token has but one assignment; where all are such, roles count by their mean over units instead.
    """
    if np.diff(counts.pairs.indptr).max() <= 1:
        total = max(counts.pairs.sum(), 1)
        mean = np.bincount(counts.role_of, np.asarray(counts.pairs.sum(0)).ravel()) / total
        n_pairs = len(counts.filler_of)
        of_filler = csr_array((np.ones(n_pairs), (counts.filler_of, np.arange(n_pairs))))
        expected = counts.fillers @ (of_filler @ diags_array(mean[counts.role_of]))
        return csr_array(counts.pairs - expected), 0.0
    cells = Cells.list_all(counts)
    expected = cells.scale(cells.prefer(cells.multiply_bags()))
    occurs = cells.pair >= 0
    where = (cells.unit[occurs], cells.pair[occurs])
    residual = csr_array(counts.pairs - csr_array((expected[occurs], where), counts.pairs.shape))
    return residual, float((expected[~occurs] ** 2).sum())


@dataclass(frozen=True, eq=False)
class Cells:
    """Every filler with every role of its unit: the unit, its entries in the unit's bags, and its pair, −1 if it occurs nowhere."""

    counts: PairCounts
    unit: Numbers
    at_filler: Numbers
    at_role: Numbers
    pair: Numbers

    @classmethod
    def list_all(cls, counts: PairCounts) -> "Cells":
        """The cells of all units."""
        fillers, roles = counts.fillers, counts.roles
        unit, at_filler, at_role = cross_entries(fillers, roles)
        width = 1 + int(counts.role_of.max())
        codes = fillers.indices[at_filler].astype(int) * width + roles.indices[at_role]
        pair = _find(counts.filler_of * width + counts.role_of, codes)
        return cls(counts, unit, at_filler, at_role, pair)

    def multiply_bags(self) -> Values:
        """b cᵀ / Σb"""
        fillers, roles = self.counts.fillers, self.counts.roles
        total = np.asarray(fillers.sum(1)).ravel()
        return fillers.data[self.at_filler] * roles.data[self.at_role] / total[self.unit]

    def prefer(self, expected: Values) -> Values:
        """The expected counts times the preferences of fillers for roles, by length."""
        lengths, size = np.unique(self.counts.lengths, return_inverse=True)
        fillers, roles = self.counts.fillers, self.counts.roles
        n_units = np.bincount(fillers.indices)
        own = np.where(n_units >= OWN_PREFERENCE, np.arange(1, 1 + len(n_units)), 0)
        key = own[fillers.indices[self.at_filler]] * len(lengths) + size[self.unit]
        key = key * (1 + int(self.counts.role_of.max())) + roles.indices[self.at_role]
        key = pd.factorize(key)[0]
        tokens = (self.counts.lengths[self.unit]) / np.asarray(fillers.sum(1)).ravel()[self.unit]
        count = expected * tokens  # shares of a mean count as tokens
        mean, variance = np.bincount(key, count), np.bincount(key, count * (1 - count).clip(0))
        observed = np.bincount(key, self._observe() * tokens)
        excess = (observed - mean) ** 2 - variance
        occurs = mean > 0  # a role may have the count 0 in a unit
        spread = (excess[occurs] / mean[occurs]).sum() / max(mean.sum(), 1e-300)
        prior = 1 / max(spread, LEAST_SPREAD)
        return expected * ((observed + prior) / (mean + prior))[key]

    def _observe(self) -> Values:
        """How often the unit has the pair."""
        pairs, n_pairs = self.counts.pairs, len(self.counts.filler_of)
        unit = np.repeat(np.arange(len(self.counts)), np.diff(pairs.indptr))
        entry = _find(unit * n_pairs + pairs.indices, self.unit * n_pairs + self.pair)
        return np.where((self.pair >= 0) & (entry >= 0), pairs.data[entry], 0.0)

    def scale(self, expected: Values) -> Values:
        """The expected counts, scaled to the bags of fillers and of roles that units have."""
        bags = ((self.counts.fillers, self.at_filler), (self.counts.roles, self.at_role))
        for bag, entry in bags * N_SCALINGS:
            sums = np.bincount(entry, expected, len(bag.data))
            expected = expected * (bag.data / np.maximum(sums, 1e-300))[entry]
        return expected


def _find(codes: Int[np.ndarray, " code"], wanted: Numbers) -> Numbers:
    """The number of every wanted code, −1 where there is none."""
    order = np.argsort(codes)
    at = order[np.minimum(np.searchsorted(codes, wanted, sorter=order), len(codes) - 1)]
    return np.where(codes[at] == wanted, at, -1)
