"""Fits to one scheme's moments: of all fitting units, of those without withheld pairs, and of all there are."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from tprprobe.analyses.decomposition.families import (
    FACTORED,
    Embedding,
    Ranks,
    RoleFit,
    fit_family,
)
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments, add_moments
from tprprobe.analyses.decomposition.rank_choice import choose_penalty, choose_ranks
from tprprobe.analyses.decomposition.sequence_splits import CLEAN, INNER, OUTER, TEST


@dataclass(frozen=True, eq=False)
class SchemeFits:
    """The fits of a scheme's moments by part, made when they are asked for; ``ranks`` and ``penalty`` are given, or chosen.

    Rank and penalty of a fit to all fitting units are chosen on sequences held out of them, which have as
    many new pairs as any; those of a fit that is to predict withheld pairs, on other pairs that are
    withheld within its own units. The latter are few, and too few for the ranks of the former.
    """

    pairs: Pairs
    moments: Sequence[PairMoments]
    ranks: Ranks | None = None
    embedding: Embedding | None = None
    penalty: float | None = None

    def _of(self, *kinds: int, judged: Sequence[int] = (0, 1)) -> PairMoments:
        return add_moments(self.moments[2 * kind + j] for kind in kinds for j in judged)

    @functools.cached_property
    def fitting(self) -> PairMoments:
        """The moments of all units that may be fitted to."""
        return self._of(CLEAN, INNER, OUTER)

    @functools.cached_property
    def unwithheld(self) -> PairMoments:
        """Of those that have no withheld pair."""
        return self._of(CLEAN, INNER)

    @property
    def test(self) -> PairMoments:
        """The moments of the units that are tested on."""
        return self.moments[TEST]

    @functools.cached_property
    def _by_sequences(self) -> tuple[PairMoments, PairMoments]:
        """What is fitted to and what is judged by, on held-out sequences."""
        kinds = (CLEAN, INNER, OUTER)
        return self._of(*kinds, judged=(0,)), self._of(*kinds, judged=(1,))

    @functools.cached_property
    def _by_pairs(self) -> tuple[PairMoments, PairMoments]:
        """The same on withheld pairs; on sequences where none could be withheld."""
        return (self._of(CLEAN), self._of(INNER)) if self._of(INNER).n else self._by_sequences

    @functools.cached_property
    def ranks_for_new(self) -> Ranks:
        """The ranks for pairs that no fitted unit has."""
        return self._chosen(self._by_pairs, self.ranks_for_seen)

    @functools.cached_property
    def ranks_for_seen(self) -> Ranks:
        """The ranks for new sequences."""
        return self._chosen(self._by_sequences)

    def _chosen(self, division: tuple[PairMoments, PairMoments], *most: Ranks) -> Ranks:
        if self.ranks is None:
            return choose_ranks(*division, self.pairs, *most)
        sizes = (len(self.pairs.fillers), len(self.pairs.roles))
        return min(self.ranks[0], sizes[0]), min(self.ranks[1], sizes[1])

    def fit(self, family: str) -> RoleFit:
        """The fit of a family to all fitting units."""
        return self._fit(family, self.fitting)

    def fit_unwithheld(self, family: str) -> RoleFit:
        """The fit of a family to the units without withheld pairs."""
        return self._fit(family, self.unwithheld, by_pairs=family == FACTORED)

    def fit_all(self, family: str) -> RoleFit:
        """The fit of a family to all units, those to test on among them; ranks are not chosen anew."""
        return self._fit(family, add_moments([self.fitting, self.test]))

    def _fit(self, family: str, moments: PairMoments, by_pairs: bool = False) -> RoleFit:
        ranks = None
        if family == FACTORED:
            ranks = self.ranks_for_new if by_pairs else self.ranks_for_seen
        penalty = self._penalty(family, ranks, by_pairs)
        return fit_family(family, moments, self.pairs, penalty, ranks, self.embedding)

    @functools.cached_property
    def _penalties(self) -> dict[tuple[str, bool], float]:
        return {}

    def _penalty(self, family: str, ranks: Ranks | None, by_pairs: bool) -> float:
        if self.penalty is not None:
            return self.penalty
        key = (family, by_pairs)
        if key not in self._penalties:
            fitted, judged = self._by_pairs if by_pairs else self._by_sequences
            of = (family, fitted, judged, self.pairs, ranks, self.embedding)
            self._penalties[key] = choose_penalty(*of)
        return self._penalties[key]
