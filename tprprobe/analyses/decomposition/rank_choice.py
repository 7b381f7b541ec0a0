"""Rank and penalty, chosen where a fit errs least on units that it has not seen."""

import math
from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from tprprobe.analyses.decomposition.factors import Start, find_start, fit_factors
from tprprobe.analyses.decomposition.families import Embedding, Ranks, fit_family
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments
from tprprobe.analyses.decomposition.ridge import solve_ridge
from tprprobe.errors import InputError

AUTO = "auto"
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
USUAL = 1e-3  # penalty that ranks are compared with
TRIAL_SWEEPS = 4
LADDER = (*range(1, 13), *(14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128))

Ladders = tuple[list[int], list[int]]


def choose_ranks(
    fitted: PairMoments, judged: PairMoments, pairs: Pairs, most: Ranks | None = None
) -> Ranks:
    """The smallest ranks of fillers and roles whose error on ``judged``, fitted to ``fitted``, is that
    of the best ones but for chance.

    Up from 1 × 1, or down from the ``most`` there may be: the rank of fillers, of roles or of both is
    doubled (halved) while that helps; of both, for a sum of f ⊗ r ⊗ w needs a dimension of each at
    once. Then a rung of the ladder at a time to the least error, and down while what is lost may be
    chance. Source: the rule of one standard error, Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3.
    """
    ladders = (ladder(len(pairs.fillers)), ladder(len(pairs.roles)))
    start = find_start(solve_ridge(fitted, USUAL), pairs, (ladders[0][-1], ladders[1][-1]))
    trials = RankTrials(fitted, judged, pairs, start)
    ranks, times = (most, 0.5) if most else ((1, 1), 2.0)
    while trials.loses(ranks, far := trials.least(_scale(ranks, times, ladders))):
        ranks = far
    while (near := trials.least(_beside(ranks, ladders))) != ranks:
        ranks = near
    best = ranks
    while fewer := [
        each for each in _beside(ranks, ladders) if each < ranks and not trials.loses(each, best)
    ]:
        ranks = trials.least(fewer)
    return ranks


@dataclass(frozen=True, eq=False)
class RankTrials:
    """Short fits to ``fitted`` by ranks, made when they are asked for, and their errors on ``judged``."""

    fitted: PairMoments
    judged: PairMoments
    pairs: Pairs
    start: Start
    _made: dict[Ranks, "_Trial"] = field(default_factory=dict)

    def least(self, ranks: list[Ranks]) -> Ranks:
        """Those of the least error."""
        return min(ranks, key=lambda each: self._at(each).error)

    def loses(self, one: Ranks, other: Ranks) -> bool:
        """True if the first ranks err more than the others, by more than one standard error of the
        difference: 2σ √Σ|ê − ê'|², where residuals have the standard deviation σ in every number.
        """
        a, b = self._at(one), self._at(other)
        variance = max(0.0, min(a.error, b.error)) / max(1, self.judged.n * len(a.bias))
        apart = self.judged.spread(a.vectors - b.vectors, a.bias - b.bias)
        return a.error - b.error > 2 * math.sqrt(variance * apart)

    def _at(self, ranks: Ranks) -> "_Trial":
        if ranks not in self._made:
            of = (ranks, USUAL, self.start, TRIAL_SWEEPS)
            found = fit_factors(self.fitted, self.pairs, *of)
            vectors = found.vectors(self.pairs.filler_of, self.pairs.role_of)
            bias = self.fitted.mean - self.fitted.mean_counts @ vectors
            self._made[ranks] = _Trial(vectors, bias, self.judged.errors(vectors, bias))
        return self._made[ranks]


@dataclass(frozen=True, eq=False)
class _Trial:
    vectors: Float64[np.ndarray, "pair d_model"]
    bias: Float64[np.ndarray, " d_model"]
    error: float


def choose_penalty(
    family: str,
    fitted: PairMoments,
    judged: PairMoments,
    pairs: Pairs,
    ranks: Ranks | None = None,
    embedding: Embedding | None = None,
) -> float:
    """The penalty with the least error on ``judged``, fitted to ``fitted``: up from the usual one, else
    down, as long as it helps.
    """
    if not judged.n or not fitted.n:
        return USUAL
    errors: dict[int, float] = {}

    def error(at: int) -> float:
        if at not in errors:
            of = (pairs, PENALTIES[at], ranks, embedding, TRIAL_SWEEPS)
            errors[at] = fit_family(family, fitted, *of).errors(judged)
        return errors[at]

    at = PENALTIES.index(USUAL)
    for step in (1, -1):
        while 0 <= at + step < len(PENALTIES) and error(at + step) < error(at):
            at += step
    return PENALTIES[at]


def ladder(n: int) -> list[int]:
    """The ranks that n fillers or roles may have."""
    return sorted({min(rank, n) for rank in LADDER})


def _scale(ranks: Ranks, times: float, ladders: Ladders) -> list[Ranks]:
    """The rungs so many times as high for fillers, for roles, and for both."""
    fillers, roles = (
        rungs[min(bisect_left(rungs, times * rank), len(rungs) - 1)]
        for rungs, rank in zip(ladders, ranks, strict=True)
    )
    return [(fillers, ranks[1]), (ranks[0], roles), (fillers, roles)]


def _beside(ranks: Ranks, ladders: Ladders) -> list[Ranks]:
    """The ranks a rung lower or higher for fillers, or for roles; and these themselves."""
    fillers, roles = (
        rungs[max(0, rungs.index(rank) - 1) : rungs.index(rank) + 2]
        for rungs, rank in zip(ladders, ranks, strict=True)
    )
    return [(rank, ranks[1]) for rank in fillers] + [(ranks[0], rank) for rank in roles]


def read_rank(rank: str | int | Ranks) -> Ranks | None:
    """The ranks that ``auto``, ``8``, ``"9x6"`` or ``(9, 6)`` say; None for auto.

    Raises:
        InputError: none of these.
    """
    if rank == AUTO:
        return None
    given = str(rank).lower().replace("×", "x").split("x") if not isinstance(rank, tuple) else rank
    try:
        numbers = [int(each) for each in given]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise InputError(f"rank {rank!r}: give auto, a number, or fillers x roles such as 9x6")
    return numbers[0], numbers[-1]
