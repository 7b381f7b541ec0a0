"""Rank and penalty, chosen where a fit errs least on pairs that it has not seen."""

import numpy as np

from tprprobe.analyses.decomposition.factors import find_start, fit_factors
from tprprobe.analyses.decomposition.families import Embedding, Ranks, fit_family
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments
from tprprobe.analyses.decomposition.ridge import solve_ridge
from tprprobe.errors import InputError

AUTO = "auto"
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
USUAL = 1e-3  # penalty that ranks are compared with
TRIAL_SWEEPS = 6
FIRST = (8, 4)
LADDER = (*range(1, 13), *(14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128))
BETTER = 1e-3  # share by which the error must fall for a larger rank


def choose_ranks(fitted: PairMoments, judged: PairMoments, pairs: Pairs) -> Ranks:
    """The ranks of fillers and roles with the least error on ``judged``, fitted to ``fitted``.

    Up and down two ladders from FIRST on, as long as it helps; a larger rank has to help by BETTER.
    """
    ladders = [ladder(len(of)) for of in (pairs.fillers, pairs.roles)]
    start = find_start(solve_ridge(fitted, USUAL), pairs, (ladders[0][-1], ladders[1][-1]))
    errors: dict[Ranks, float] = {}

    def error(ranks: Ranks) -> float:
        if ranks not in errors:
            found = fit_factors(fitted, pairs, ranks, USUAL, start, TRIAL_SWEEPS)
            vectors = found.vectors(pairs.filler_of, pairs.role_of)
            errors[ranks] = judged.errors(vectors, fitted.mean - fitted.mean_counts @ vectors)
        return errors[ranks]

    at: Ranks = (_nearest(ladders[0], FIRST[0]), _nearest(ladders[1], FIRST[1]))
    while True:
        before = at
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            while (to := _move(ladders[axis], at, axis, step)) and error(to) < error(at) * (
                1 - BETTER * step
            ):
                at = to
        if at == before:
            return at


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


def _nearest(rungs: list[int], wanted: int) -> int:
    return rungs[min(int(np.searchsorted(rungs, wanted)), len(rungs) - 1)]


def _move(rungs: list[int], at: Ranks, axis: int, step: int) -> Ranks | None:
    """The ranks one step up or down the ladder of an axis; None at its end."""
    place = rungs.index(at[axis]) + step
    if not 0 <= place < len(rungs):
        return None
    return (rungs[place], at[1]) if axis == 0 else (at[0], rungs[place])


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
