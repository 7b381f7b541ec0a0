"""Penalties and ranks, chosen block by block where a fit errs least on units that it has not seen.

A block is left out where it makes the error smaller by no more than chance, so a family is never chosen to
be worse than the one below it. One higher-order SVD of the saturated interaction bounds the ranks; below the
bound they are judged after sweeps of alternating least squares.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array

from tprprobe.errors import InputError
from tprprobe.estimators.bindings.block_products import Block
from tprprobe.estimators.bindings.factors import (
    AlternatingLeastSquares,
    Ranks,
    hosvd,
    ranks_of,
    truncate,
)
from tprprobe.estimators.bindings.families import (
    BINDING,
    BLOCKS,
    PAIR,
    Bases,
    Embedding,
    make_block,
)
from tprprobe.estimators.bindings.pairs import Pairs
from tprprobe.estimators.bindings.ridge import MAX_DENSE, Regression, sum_blocks

AUTO = "auto"
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
FIRST_PENALTY = 3e-2  # that is tried
FREE_PENALTY = 0.3  # of many free vectors, which factors are first made of
MIN_GAIN = 2e-4  # share of the error by which another penalty has to be better
ROUNDING = 1e-9  # share of the variation, below which an error is rounding
MAX_DOUBT = 1.64  # standard errors within which fewer dimensions do: 95 %, one-sided
LADDER = (*range(1, 13), *(14, 16, 20, 24, 28, 32, 40, 48, 56, 64))
TRIAL_SWEEPS = 12  # after which ranks are judged

Errors = Float64[np.ndarray, " group"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Chosen blocks with their penalties and the factors of parts' bindings; the errors of their fit by
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
class ModelSelector:
    """The choices for one design, from units to fit to and units to judge by: their counts, vectors and groups.

    ``ranks`` are given, or as another selector, ``reference``, chose them, or chosen; of a control sweeps start from
    the reference's factors, and penalties alone are chosen.
    """

    parts: Sequence[Pairs]
    regression: Regression
    counts: csr_array
    vectors: Float64[np.ndarray, "unit d"]
    groups: Int[np.ndarray, " unit"]
    ranks: Ranks | None = None
    embedding: Embedding | None = None
    reference: "ModelSelector | None" = None
    is_control: bool = False
    _candidates: dict[tuple[str, ...], Candidate] = field(init=False, default_factory=dict)
    _penalties: dict[tuple[str, int], float] = field(init=False, default_factory=dict)

    def __post_init__(self):
        if self.reference and not self.is_control:
            self._penalties.update(self.reference._penalties)  # penalties to try first

    def choose(self, family: str) -> Candidate:
        """The penalties and factors of a family."""
        return self._fit_up_to(BLOCKS[family])

    def _fit_up_to(self, names: tuple[str, ...]) -> Candidate:
        """The candidate that has these blocks, from the one that has all but the last."""
        if names not in self._candidates:
            candidate = self._fit_up_to(names[:-1]) if names else self._evaluate((), (), {})
            for part_id in range(len(self.parts)) if names else ():
                if names[-1] == BINDING:
                    reference = self.reference and self.reference._fit_up_to(names)
                    bases = reference and reference.bases.get(part_id)
                    candidate = self._bind(candidate, part_id, bases)
                else:
                    block = make_block(names[-1], part_id, self.parts, self.embedding)
                    candidate = self._add(candidate, block)
            self._candidates[names] = candidate
        return self._candidates[names]

    def _add(self, candidate: Candidate, block: Block) -> Candidate:
        """The candidate with a block more, where it gains or no unit that has its fitted columns judges it."""
        is_fitted = self.regression.grams.mean @ abs(block.basis) > 0
        is_judged = self.counts.sum(0) @ abs(block.basis) > 0
        if not np.any(is_fitted & is_judged):
            return self._extend(candidate, block, PENALTIES[0])
        extended = self._best(candidate, block)
        return extended if self._gains(candidate, extended) else candidate

    def _gains(self, candidate: Candidate, extended: Candidate) -> bool:
        """True if the second errs less, by more than chance and rounding."""
        minimum = ROUNDING * self._fit_up_to(()).error
        is_better = candidate.error - extended.error > minimum
        return errs_more(candidate.errors, extended.errors) and is_better

    def _best(self, candidate: Candidate, block: Block) -> Candidate:
        """The candidate with a block more, of the penalty that errs least."""

        @functools.cache
        def extend(i: int) -> Candidate:
            return self._extend(candidate, block, PENALTIES[i])

        key = (block.name, block.part_id)
        is_last = block.name == PAIR and any(b.name == BINDING for b in candidate.blocks)
        start = PENALTIES[-1] if is_last else self._penalties.get(key, FIRST_PENALTY)
        i = PENALTIES.index(start)
        for step in (1, -1) if len(candidate.errors) > 1 else ():
            while 0 <= i + step < len(PENALTIES):
                if extend(i + step).error >= (1 - MIN_GAIN) * extend(i).error:
                    break
                i += step
        if not is_last:
            self._penalties[key] = PENALTIES[i]
        return extend(i)

    def _extend(self, candidate: Candidate, block: Block, penalty: float) -> Candidate:
        blocks, penalties = (*candidate.blocks, block), (*candidate.penalties, penalty)
        return self._evaluate(blocks, penalties, candidate.bases)

    def _evaluate(
        self, blocks: tuple[Block, ...], penalties: tuple[float, ...], bases: Mapping[int, Bases]
    ) -> Candidate:
        errors = self._errors(blocks, penalties)
        variance = float(errors.sum()) / max(1, self.vectors.size)
        return Candidate(blocks, penalties, bases, errors, variance)

    def _errors(
        self, blocks: Sequence[Block], penalties: Sequence[float], columns: np.ndarray | None = None
    ) -> Errors:
        """Σ |e − ê|² by group of the units to judge by, of the last block with these columns."""
        coefficients = self.regression.solve(blocks, penalties, columns)
        if columns is not None:
            blocks = [*blocks[:-1], replace(blocks[-1], basis=blocks[-1].basis[:, columns])]
        table = np.zeros_like(self.regression.cross) + sum_blocks(blocks, coefficients)
        residuals = self.vectors - self.counts @ table - self.regression.bias(table)
        squares = np.einsum("ud,ud->u", residuals, residuals)
        return np.bincount(self.groups, squares).astype(float)

    def _bind(self, candidate: Candidate, part_id: int, reference: Bases | None) -> Candidate:
        """The candidate with the bindings of a part, of the dimensions of others, or the fewest that do."""
        if self.is_control:
            if reference is None or not min(ranks_of(reference)):
                return candidate
            return self._sweep(candidate, part_id, reference, candidate)
        ranks = self.ranks or (reference and ranks_of(reference))
        bases = hosvd(self._free_vectors(candidate, part_id), self.parts[part_id], ranks)
        unbound = replace(candidate, bases={**candidate.bases, part_id: truncate(bases, (0, 0))})
        if not min(ranks_of(bases)):
            return unbound
        bound = self._best(candidate, self._binding(part_id, bases))
        if self.ranks is None and not self._gains(candidate, bound):
            return unbound
        if ranks is None:
            bases = self._truncate_rank(candidate, bound, bases, part_id)
        return self._sweep(candidate, part_id, bases, bound)

    def _binding(self, part_id: int, bases: Bases) -> Block:
        return make_block(BINDING, part_id, self.parts, bases=bases)

    def _free_vectors(self, candidate: Candidate, part_id: int) -> Float64[np.ndarray, "pair d"]:
        """A free vector of every pair beside the candidate's blocks: what factors are first made of."""
        block = make_block(PAIR, part_id, self.parts)
        is_cheap = len(self.parts[part_id]) <= MAX_DENSE
        penalty = self._penalties.get((PAIR, part_id), None if is_cheap else FREE_PENALTY)
        penalty = penalty or self._best(candidate, block).penalties[-1]
        blocks, penalties = (*candidate.blocks, block), (*candidate.penalties, penalty)
        return self.regression.solve(blocks, penalties)[-1]

    def _sweep(
        self, candidate: Candidate, part_id: int, bases: Bases, bound: Candidate
    ) -> Candidate:
        """The candidate with these bindings after sweeps, of the penalty that errs least."""
        bases = self._alternation(candidate, part_id, bound).sweep(bases)
        best = self._best(candidate, self._binding(part_id, bases))
        return replace(best, bases={**candidate.bases, part_id: bases})

    def _alternation(
        self, candidate: Candidate, part_id: int, bound: Candidate
    ) -> AlternatingLeastSquares:
        fixed = candidate.blocks, candidate.penalties, self.parts, part_id
        return AlternatingLeastSquares(self.regression, *fixed, bound.variance)

    def _truncate_rank(
        self, candidate: Candidate, bound: Candidate, bases: Bases, part_id: int
    ) -> Bases:
        """The fewest dimensions that err as little as the best: of the SVD, then, if cheap, after sweeps."""
        columns = np.arange(np.prod(ranks_of(bases))).reshape(ranks_of(bases))  # of f ⊗ r
        scale = self.regression.grams.scale

        def errors_of_svd(ranks: Ranks) -> Errors:
            selection = columns[: ranks[0], : ranks[1]].reshape(-1)
            return self._errors(bound.blocks, bound.penalties, selection)

        bases = truncate(bases, find_fewest(ranks_of(bases), errors_of_svd))
        alternation = self._alternation(candidate, part_id, bound)
        if not alternation.is_cheap(bases):
            return bases
        unit = bound.penalties[-1] * scale(bound.blocks[-1])

        def errors_of_sweeps(ranks: Ranks) -> Errors:
            swept = alternation.sweep(truncate(bases, ranks), TRIAL_SWEEPS)
            block = self._binding(part_id, swept)
            penalties = (*candidate.penalties, unit / scale(block))
            return self._errors((*candidate.blocks, block), penalties)

        return truncate(bases, find_fewest(ranks_of(bases), errors_of_sweeps))


def find_fewest(largest: Ranks, measure: Callable[[Ranks], Errors]) -> Ranks:
    """The fewest dimensions that err as little as the best, but for chance over groups."""
    ranks, step, errors = largest, 2.0, {largest: measure(largest)}

    def loses(ranks: Ranks) -> bool:
        if ranks not in errors:
            errors[ranks] = measure(ranks)
        return errs_more(errors[ranks], min(errors.values(), key=np.sum), MAX_DOUBT)

    while True:
        fewer = [lower for lower in _lower(ranks, step) if not loses(lower)]
        if fewer:
            ranks = min(fewer, key=lambda r: (r[0] * r[1], errors[r].sum()))
        elif step > 1:
            step = 1.0
        else:
            return ranks


def errs_more(errors: Errors, reference: Errors, n_errors: float = 1.0) -> bool:
    """True if the first errs more, by more than so many standard errors over groups: of the difference, or,
    where one group decides that, of the second's errors.
    """
    difference = errors - reference
    if len(difference) < 2:
        return True  # nothing to judge by: all that is asked for stays
    spread = min(difference.std(ddof=1), reference.std(ddof=1))
    return float(difference.sum()) > n_errors * float(np.sqrt(len(difference)) * spread)


def _lower(ranks: Ranks, step: float) -> list[Ranks]:
    """Half the dimensions of fillers, of roles, of both; or a rung of the ladder less."""
    if step > 1:
        fillers, roles = (max(1, int(rank / step)) for rank in ranks)
    else:
        fillers, roles = (max([1, *(rung for rung in LADDER if rung < rank)]) for rank in ranks)
    lower = {(fillers, ranks[1]), (ranks[0], roles), (fillers, roles)} - {ranks}
    return sorted(lower)


def read_rank(rank: str | int | Ranks) -> Ranks | None:
    """The ranks that ``auto``, ``8``, ``"9x6"`` or ``(9, 6)`` say; None for auto."""
    if rank == AUTO:
        return None
    words = str(rank).lower().replace("×", "x").split("x") if not isinstance(rank, tuple) else rank
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise InputError(f"rank {rank!r}: give auto, a number, or two numbers such as 9x6")
    return numbers[0], numbers[-1]
