"""Penalties and ranks, chosen block by block where a fit errs least on units that it has not seen.

A block is left out where it makes the error smaller by no more than chance, so a family is never chosen to
be worse than the one below it. One higher-order SVD of the saturated interaction bounds the ranks; below the
bound they are judged after sweeps of alternating ridge.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.alternation import Alternation, Bases, bound_block
from tprprobe.analyses.decomposition.families import BINDING, BLOCKS, PAIR, Embedding, make_block
from tprprobe.analyses.decomposition.interactions import Ranks, columns_of, factor_table
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.ridge import Block, Regression
from tprprobe.errors import InputError

AUTO = "auto"
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
USUAL = 3e-2  # penalty that is tried first
BETTER = 2e-4  # share of the error by which another penalty has to be better
DOUBT = 1.64  # standard errors within which fewer dimensions do: 95 %, one-sided
LADDER = (*range(1, 13), *(14, 16, 20, 24, 28, 32, 40, 48, 56, 64))

SMALL = 200_000  # pairs by dimensions of bindings up to which ranks are judged after sweeps
FEW, TRIALS, MOST = 1, 12, 20  # sweeps: of a large fit, to judge ranks, at most
Errors = Float64[np.ndarray, " group"]


@dataclass(frozen=True)
class Choice:
    """What a family's fit is made with: the penalty of every (block, part), None where it is left out; the
    factors of every part's bindings that sweeps go on from; and the variance of a number that is not fitted.
    """

    penalties: Mapping[tuple[str, int], float | None]
    bases: Mapping[int, Bases]
    variance: float


@dataclass(frozen=True, eq=False)
class Judges:
    """Units that fits are judged by: X of every part, the vectors and the group of each."""

    counts: Sequence[csr_array]
    vectors: Float64[np.ndarray, "unit d"]
    groups: Int[np.ndarray, " unit"]

    def errors(
        self, tables: Sequence[Float64[np.ndarray, "_pair d"]], regression: Regression
    ) -> Errors:
        """Σ |e − ê|² by group, of the vectors of all parts' pairs; the intercept is the regression's."""
        bias = regression.mean.copy()
        for mean, table in zip(regression.mean_counts, tables, strict=True):
            bias = bias - mean @ table
        left = self.vectors - bias
        for x, table in zip(self.counts, tables, strict=True):
            left = left - x @ table
        return np.bincount(self.groups, np.sum(left**2, 1)).astype(float)


@dataclass(frozen=True, eq=False)
class Stage:
    """Blocks with their penalties, and the errors of their fit."""

    blocks: tuple[Block, ...]
    penalties: tuple[float, ...]
    errors: Errors

    @property
    def error(self) -> float:
        return float(self.errors.sum())


Reached = tuple[Stage, dict[int, Bases]]


@dataclass(frozen=True, eq=False)
class Chooser:
    """The choices for one design, from units to fit to and units to judge by."""

    pairs: Sequence[Pairs]
    regression: Regression
    judges: Judges
    ranks: Ranks | None = None
    embedding: Sequence[Embedding] | None = None
    _stages: dict[Any, Any] = field(default_factory=dict)

    def choose(self, family: str) -> Choice:
        """The penalties and factors of a family."""
        stage, bases = self._reach(BLOCKS[family])
        found: dict[tuple[str, int], float | None] = {
            (name, part): None for name in BLOCKS[family] for part in range(len(self.pairs))
        }
        chosen = zip(stage.blocks, stage.penalties, strict=True)
        found |= {(block.name, block.part): penalty for block, penalty in chosen}
        return Choice(found, bases, self._variance(stage))

    def _variance(self, stage: Stage) -> float:
        return stage.error / max(1, self.judges.vectors.size)

    def _reach(self, names: tuple[str, ...]) -> Reached:
        """The stage that has these blocks."""
        if names not in self._stages:
            self._stages[names] = self._next(names)
        return self._stages[names]

    def _next(self, names: tuple[str, ...]) -> Reached:
        if not names:
            nothing = [np.zeros((len(p), len(self.regression.mean))) for p in self.pairs]
            return Stage((), (), self.judges.errors(nothing, self.regression)), {}
        stage, bases = self._reach(names[:-1])
        bases = dict(bases)
        for part, pairs in enumerate(self.pairs):
            if names[-1] == BINDING:
                stage, bases[part] = self._bind(stage, part)
            else:
                given = self.embedding[part] if self.embedding else None
                stage = self._add(stage, make_block(names[-1], part, pairs, given))
        return stage, bases

    def _add(self, stage: Stage, block: Block) -> Stage:
        """The stage with a block more, where that is better by more than a standard error over groups; if
        no unit to judge by has any of its columns, nothing speaks against it.
        """
        if not self._is_judged(block):
            blocks, penalties = (*stage.blocks, block), (*stage.penalties, PENALTIES[0])
            return Stage(blocks, penalties, self._errors(blocks, penalties))
        found = self._best(stage, block)
        return found if _loses(stage.errors, found.errors) else stage

    def _is_judged(self, block: Block) -> bool:
        """True if units to judge by have columns of the block that fitted units have."""
        seen = self.regression.mean_counts[block.part] @ abs(block.basis) > 0
        judged = self.judges.counts[block.part].sum(0) @ abs(block.basis) > 0
        return bool(np.any(seen & judged))

    def _best(self, stage: Stage, block: Block) -> Stage:
        """The stage with a block more, of the penalty that errs least."""
        blocks, tried = (*stage.blocks, block), {}

        def attempt(at: int) -> Stage:
            if at not in tried:
                penalties = (*stage.penalties, PENALTIES[at])
                tried[at] = Stage(blocks, penalties, self._errors(blocks, penalties))
            return tried[at]

        beyond = block.name == PAIR and any(each.name == BINDING for each in stage.blocks)
        at = len(PENALTIES) - 1 if beyond else PENALTIES.index(USUAL)
        for step in (1, -1) if len(stage.errors) > 1 else ():
            while 0 <= at + step < len(PENALTIES):
                if attempt(at + step).error >= (1 - BETTER) * attempt(at).error:
                    break
                at += step
        return attempt(at)

    def _errors(
        self, blocks: Sequence[Block], penalties: Sequence[float], kept: np.ndarray | None = None
    ) -> Errors:
        found = self.regression.solve(blocks, penalties, kept)
        return self.judges.errors(self._tables(blocks, found, kept), self.regression)

    def _tables(
        self, blocks: Sequence[Block], found: Sequence[np.ndarray], kept: np.ndarray | None = None
    ) -> list[Float64[np.ndarray, "_pair d"]]:
        tables = [np.zeros((len(p), len(self.regression.mean))) for p in self.pairs]
        for i, (block, of) in enumerate(zip(blocks, found, strict=True)):
            basis = block.basis
            if kept is not None and i == len(blocks) - 1:
                basis = basis[:, kept]
            tables[block.part] += basis @ of
        return tables

    def _bind(self, stage: Stage, part: int) -> tuple[Stage, Bases]:
        """The stage with the bindings of a part, and their factors, of the fewest dimensions that do."""
        pairs = self.pairs[part]
        free = self._best(stage, make_block(PAIR, part, pairs))
        solved = self.regression.solve(free.blocks, free.penalties)
        bases = factor_table(solved[-1], pairs, self.ranks)
        nothing = (bases[0][:, :0], bases[1][:, :0])
        if not min(_ranks(bases)):
            return stage, nothing
        found = self._best(stage, bound_block(bases, pairs, part))
        if self.ranks is None:
            if not _loses(stage.errors, found.errors):
                return stage, nothing
            bases = _cut(bases, self._fewest(found, bases))
        sweeps = Alternation(
            self.regression, stage.blocks, stage.penalties, pairs, part, self._variance(found)
        )
        times = sweeps_of(bases, pairs)
        if self.ranks is None and times > FEW:

            def errors(ranks: Ranks) -> Errors:
                block = bound_block(sweeps.sweep(_cut(bases, ranks), TRIALS), pairs, part)
                same = self.regression.scale(found.blocks[-1]) / self.regression.scale(block)
                penalties = (*found.penalties[:-1], found.penalties[-1] * same)
                return self._errors((*stage.blocks, block), penalties)

            bases = _cut(bases, fewest(_ranks(bases), errors))
        bases = sweeps.sweep(bases, times)
        return self._best(stage, bound_block(bases, pairs, part)), bases

    def _fewest(self, stage: Stage, bases: Bases) -> Ranks:
        """The fewest dimensions of the SVD that err as little as the best, but for chance."""
        whole = _ranks(bases)
        return fewest(
            whole,
            lambda ranks: self._errors(stage.blocks, stage.penalties, columns_of(ranks, whole)),
        )


def sweeps_of(bases: Bases, pairs: Pairs) -> int:
    """How many sweeps a fit takes: fewer of many pairs and dimensions, where each is dear."""
    return MOST if len(pairs) * int(np.prod(_ranks(bases))) <= SMALL else FEW


def _ranks(bases: Bases) -> Ranks:
    return bases[0].shape[1], bases[1].shape[1]


def _cut(bases: Bases, ranks: Ranks) -> Bases:
    return bases[0][:, : ranks[0]], bases[1][:, : ranks[1]]


def fewest(whole: Ranks, measure: Callable[[Ranks], Errors]) -> Ranks:
    """The fewest dimensions that err as little as the best, but for chance over groups."""
    tried: dict[Ranks, Errors] = {}

    def errors(ranks: Ranks) -> Errors:
        if ranks not in tried:
            tried[ranks] = measure(ranks)
        return tried[ranks]

    def loses(ranks: Ranks) -> bool:
        return _loses(errors(ranks), min(tried.values(), key=np.sum), DOUBT)

    ranks, step = whole, 2.0
    errors(whole)
    while True:
        fewer = [each for each in _lower(ranks, step) if not loses(each)]
        if fewer:
            ranks = min(fewer, key=lambda each: (each[0] * each[1], errors(each).sum()))
        elif step > 1:
            step = 1.0
        else:
            return ranks


def _loses(one: Errors, other: Errors, times: float = 1.0) -> bool:
    """True if the first errs more, by more than so many standard errors of the difference over groups."""
    apart = one - other
    if len(apart) < 2:
        return True  # nothing to judge by: all that is asked for is kept
    return float(apart.sum()) > times * float(np.sqrt(len(apart)) * apart.std(ddof=1))


def _lower(ranks: Ranks, step: float) -> list[Ranks]:
    """Half the dimensions of fillers, of roles, of both; or a rung of the ladder less."""
    if step > 1:
        one, other = (max(1, int(rank / step)) for rank in ranks)
    else:
        one, other = (max([1, *(r for r in LADDER if r < rank)]) for rank in ranks)
    found = {(one, ranks[1]), (ranks[0], other), (one, other)} - {ranks}
    return sorted(found)


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
