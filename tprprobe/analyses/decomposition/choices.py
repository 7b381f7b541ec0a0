"""Penalties and ranks, chosen block by block where a fit errs least on units that it has not seen.

A block is left out where it makes the error smaller by no more than chance, so a family is never chosen to
be worse than the one below it. One higher-order SVD of the saturated interaction bounds the ranks; below the
bound they are judged after sweeps of alternating ridge.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.designs import Pairs
from tprprobe.analyses.decomposition.factors import (
    Alternation,
    Ranks,
    factor_table,
    first_of,
    ranks_of,
)
from tprprobe.analyses.decomposition.families import (
    BINDING,
    BLOCKS,
    PAIR,
    Bases,
    Embedding,
    make_block,
)
from tprprobe.analyses.decomposition.ridge import DENSE, Regression, table_of
from tprprobe.errors import InputError

AUTO = "auto"
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
USUAL = 3e-2  # penalty that is tried first
FREE = 0.3  # penalty of many free vectors, which factors are first made of
BETTER = 2e-4  # share of the error by which another penalty has to be better
ROUNDING = 1e-9  # share of the variation, below which an error is rounding
DOUBT = 1.64  # standard errors within which fewer dimensions do: 95 %, one-sided
LADDER = (*range(1, 13), *(14, 16, 20, 24, 28, 32, 40, 48, 56, 64))
TRIALS = 12  # sweeps after which ranks are judged

Errors = Float64[np.ndarray, " group"]


@dataclass(frozen=True, eq=False)
class Stage:
    """Blocks that are chosen, with their penalties and the factors of parts' bindings; the errors of their fit by
    group, and their mean square.
    """

    blocks: tuple[Block, ...]
    penalties: tuple[float, ...]
    bases: Mapping[int, Bases]
    errors: Errors
    variance: float

    @property
    def error(self) -> float:
        return float(self.errors.sum())


@dataclass(frozen=True, eq=False)
class Chooser:
    """The choices for one design, from units to fit to and units to judge by: their counts, vectors and groups.

    ``ranks`` are given, or as another chooser, ``like``, chose them, or chosen; of a control sweeps start from
    the other's factors, and penalties alone are chosen.
    """

    parts: Sequence[Pairs]
    regression: Regression
    counts: csr_array
    vectors: Float64[np.ndarray, "unit d"]
    groups: Int[np.ndarray, " unit"]
    ranks: Ranks | None = None
    embedding: Embedding | None = None
    like: "Chooser | None" = None
    is_control: bool = False
    _stages: dict[tuple[str, ...], Stage] = field(init=False, default_factory=dict)
    _usual: dict[tuple[str, int], float] = field(init=False, default_factory=dict)

    def __post_init__(self):
        if self.like and not self.is_control:
            self._usual.update(self.like._usual)  # penalties to try first

    def choose(self, family: str) -> Stage:
        """The penalties and factors of a family."""
        return self._reach(BLOCKS[family])

    def _reach(self, names: tuple[str, ...]) -> Stage:
        """The stage that has these blocks, from the one that has all but the last."""
        if names not in self._stages:
            stage = self._reach(names[:-1]) if names else self._attempt((), (), {})
            for part in range(len(self.parts)) if names else ():
                if names[-1] == BINDING:
                    bases = self.like and self.like._reach(names).bases.get(part)
                    stage = self._bind(stage, part, bases)
                else:
                    block = make_block(names[-1], part, self.parts, self.embedding)
                    stage = self._add(stage, block)
            self._stages[names] = stage
        return self._stages[names]

    def _add(self, stage: Stage, block: Block) -> Stage:
        """The stage with a block more, where it gains or no unit that has its fitted columns judges it."""
        seen = self.regression.grams.mean @ abs(block.basis) > 0
        judged = self.counts.sum(0) @ abs(block.basis) > 0
        if not np.any(seen & judged):
            penalties = (*stage.penalties, PENALTIES[0])
            return self._attempt((*stage.blocks, block), penalties, stage.bases)
        found = self._best(stage, block)
        return found if self._gains(stage, found) else stage

    def _gains(self, stage: Stage, found: Stage) -> bool:
        """True if the second errs less, by more than chance and rounding."""
        least = ROUNDING * self._reach(()).error
        return errs_more(stage.errors, found.errors) and stage.error - found.error > least

    def _best(self, stage: Stage, block: Block) -> Stage:
        """The stage with a block more, of the penalty that errs least."""

        @functools.cache
        def attempt(at: int) -> Stage:
            penalties = (*stage.penalties, PENALTIES[at])
            return self._attempt((*stage.blocks, block), penalties, stage.bases)

        key = (block.name, block.part)
        beyond = block.name == PAIR and any(each.name == BINDING for each in stage.blocks)
        at = PENALTIES.index(PENALTIES[-1] if beyond else self._usual.get(key, USUAL))
        for step in (1, -1) if len(stage.errors) > 1 else ():
            while 0 <= at + step < len(PENALTIES):
                if attempt(at + step).error >= (1 - BETTER) * attempt(at).error:
                    break
                at += step
        if not beyond:
            self._usual[key] = PENALTIES[at]
        return attempt(at)

    def _attempt(
        self, blocks: tuple[Block, ...], penalties: tuple[float, ...], bases: Mapping[int, Bases]
    ) -> Stage:
        errors = self._errors(blocks, penalties)
        return Stage(
            blocks, penalties, bases, errors, float(errors.sum()) / max(1, self.vectors.size)
        )

    def _errors(
        self, blocks: Sequence[Block], penalties: Sequence[float], kept: np.ndarray | None = None
    ) -> Errors:
        """Σ |e − ê|² by group of the units to judge by, of the last block with the columns ``kept``."""
        found = self.regression.solve(blocks, penalties, kept)
        if kept is not None:
            blocks = [*blocks[:-1], replace(blocks[-1], basis=blocks[-1].basis[:, kept])]
        table = np.zeros_like(self.regression.cross) + table_of(blocks, found)
        left = self.vectors - self.counts @ table - self.regression.bias(table)
        return np.bincount(self.groups, np.einsum("ud,ud->u", left, left)).astype(float)

    def _bind(self, stage: Stage, part: int, like: Bases | None) -> Stage:
        """The stage with the bindings of a part, of the dimensions of others, or the fewest that do."""
        if self.is_control:
            return self._sweep(stage, part, like, stage) if like and min(ranks_of(like)) else stage
        ranks = self.ranks or (like and ranks_of(like))
        bases = factor_table(self._free(stage, part), self.parts[part], ranks)
        nothing = replace(stage, bases={**stage.bases, part: first_of(bases, (0, 0))})
        if not min(ranks_of(bases)):
            return nothing
        found = self._best(stage, self._bound(part, bases))
        if self.ranks is None and not self._gains(stage, found):
            return nothing
        if ranks is None:
            bases = self._cut(stage, found, bases, part)
        return self._sweep(stage, part, bases, found)

    def _bound(self, part: int, bases: Bases) -> Block:
        return make_block(BINDING, part, self.parts, bases=bases)

    def _free(self, stage: Stage, part: int) -> Float64[np.ndarray, "pair d"]:
        """A free vector of every pair beside the stage's blocks: what factors are first made of."""
        block = make_block(PAIR, part, self.parts)
        is_cheap = len(self.parts[part]) <= DENSE
        known = self._usual.get((PAIR, part), None if is_cheap else FREE)
        penalty = known or self._best(stage, block).penalties[-1]
        return self.regression.solve((*stage.blocks, block), (*stage.penalties, penalty))[-1]

    def _sweep(self, stage: Stage, part: int, bases: Bases, found: Stage) -> Stage:
        """The stage with these bindings after sweeps, of the penalty that errs least."""
        bases = self._alternation(stage, part, found).sweep(bases)
        return replace(
            self._best(stage, self._bound(part, bases)), bases={**stage.bases, part: bases}
        )

    def _alternation(self, stage: Stage, part: int, found: Stage) -> Alternation:
        return Alternation(
            self.regression, stage.blocks, stage.penalties, self.parts, part, found.variance
        )

    def _cut(self, stage: Stage, found: Stage, bases: Bases, part: int) -> Bases:
        """The fewest dimensions that err as little as the best: of the SVD, then, if cheap, after sweeps."""
        numbers = np.arange(np.prod(ranks_of(bases))).reshape(
            ranks_of(bases)
        )  # of columns of f ⊗ r
        scale = self.regression.grams.scale

        def errors_of_svd(ranks: Ranks) -> Errors:
            kept = numbers[: ranks[0], : ranks[1]].reshape(-1)
            return self._errors(found.blocks, found.penalties, kept)

        bases = first_of(bases, fewest(ranks_of(bases), errors_of_svd))
        sweeps = self._alternation(stage, part, found)
        if not sweeps.is_cheap(bases):
            return bases
        unit = found.penalties[-1] * scale(found.blocks[-1])

        def errors(ranks: Ranks) -> Errors:
            block = self._bound(part, sweeps.sweep(first_of(bases, ranks), TRIALS))
            return self._errors((*stage.blocks, block), (*stage.penalties, unit / scale(block)))

        return first_of(bases, fewest(ranks_of(bases), errors))


def fewest(whole: Ranks, measure: Callable[[Ranks], Errors]) -> Ranks:
    """The fewest dimensions that err as little as the best, but for chance over groups."""
    ranks, step, tried = whole, 2.0, {whole: measure(whole)}

    def loses(ranks: Ranks) -> bool:
        if ranks not in tried:
            tried[ranks] = measure(ranks)
        return errs_more(tried[ranks], min(tried.values(), key=np.sum), DOUBT)

    while True:
        fewer = [each for each in _lower(ranks, step) if not loses(each)]
        if fewer:
            ranks = min(fewer, key=lambda each: (each[0] * each[1], tried[each].sum()))
        elif step > 1:
            step = 1.0
        else:
            return ranks


def errs_more(one: Errors, other: Errors, times: float = 1.0) -> bool:
    """True if the first errs more, by more than so many standard errors over groups: of the difference, or,
    where one group decides that, of the second's errors.
    """
    apart = one - other
    if len(apart) < 2:
        return True  # nothing to judge by: all that is asked for is kept
    spread = min(apart.std(ddof=1), other.std(ddof=1))
    return float(apart.sum()) > times * float(np.sqrt(len(apart)) * spread)


def _lower(ranks: Ranks, step: float) -> list[Ranks]:
    """Half the dimensions of fillers, of roles, of both; or a rung of the ladder less."""
    if step > 1:
        one, other = (max(1, int(rank / step)) for rank in ranks)
    else:
        one, other = (max([1, *(r for r in LADDER if r < rank)]) for rank in ranks)
    found = {(one, ranks[1]), (ranks[0], other), (one, other)} - {ranks}
    return sorted(found)


def read_rank(rank: str | int | Ranks) -> Ranks | None:
    """The ranks that ``auto``, ``8``, ``"9x6"`` or ``(9, 6)`` say; None for auto."""
    if rank == AUTO:
        return None
    given = str(rank).lower().replace("×", "x").split("x") if not isinstance(rank, tuple) else rank
    try:
        numbers = [int(each) for each in given]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise InputError(f"rank {rank!r}: give auto, a number, or two numbers such as 9x6")
    return numbers[0], numbers[-1]
