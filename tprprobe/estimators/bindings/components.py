"""How much of the variance of states is due to fillers, roles, fillers × length and bindings: variance components by moments.

Definition. A unit (a sequence, or a token) has counts x of filler–role pairs, a bag b of its fillers, a bag c of its roles and
a length. With V the vectors of pairs and x̃ = x − E[x | b, c], the bindings' share is E‖Vᵀx̃‖² / E‖e − E e‖²: what a state e
owes to *which filler has which role*, beyond every function of which fillers and which roles there are. It is what
shuffling the roles within a sequence destroys: the share of a sum, a mean, a normalized bag, a maximum or a pooling by weights of
words is 0 by definition. ``pair_counts`` estimates E[x | b, c].

Limits. In real text, maxima and weighted means of words depend on which words occur together, and so does their order; a component of
pairs of fillers that occur together takes most of that up (``benchmarks.binding.shares`` measures what is left, on texts drawn anew). Where pairs are many, a share is exact on average over V, not for every V:
that enters the interval.

Estimator. Let P project out fixed columns F (roles, bins of length, frequent fillers by bins of length), K = X̃ W X̃ᵀ without
its diagonal (with it, functions of the bag that F does not hold were biased: idf weights by −.005), and blocks of groups be independent. Products of states of *different* blocks hold no noise, so
    q = Σ_{i, j of different blocks} ⟨(P e)_i, (P e)_j⟩ (P K P)_ij
is 0 on average if there are no bindings, whatever the noise of a block is (in the block itself, the residuals that the other
blocks predict stand for the noise: E[ê ẽᵀ] = Ω). Errors of E[x | b, c] and of F both have to be large to bias it: their product
counts (Shah & Peters 2020). Random vectors of pairs, put through the same products, say what q is for a
share of 1: that is Haseman–Elston regression with randomized traces. Rare fillers (too few for F), times 1 and 1/L, and pairs of
fillers that occur together, times 1/L, are random components of the same system. W = 1 / (count + SHRINKAGE): a pair of
n units weighs n² / (n + 1) in q, nearly the n that it weighs in the share, and rare pairs count as draws of one distribution. (With
n + 10 frequent words weighed more than that, and where their vectors were short, the interval lay below the share.) A pair of one unit is never
measured, its vector is taken to be as long as that of others; so are pairs that occur nowhere, although E[x | b, c] expects them: a
word of one sentence might have stood at its other places. (Without these a share with 5,000 words was a tenth too small.)

Fixed columns' share is exact for any V, but for directions that few blocks have, which count as like the others. Of fillers, products by
rare ones are beyond the fixed ones, whose vectors are no draw. A filler of a single block is in no product: it is taken to be as long as other rare
ones. (Without it, means of words had far too small a share where most words stand in one text.)

Interval. q is a sum of products g_ab over pairs of blocks: 4 Σ (r_a − r̄)² − 2 Σ (g_ab − ḡ)², r_a = Σ_b g_ab, is the variance of
such a U-statistic, without a second pass; Student's t with as many degrees of freedom as blocks less one. That is how the share varies
with the units. It is a share of these fillers, of which rare ones are hardly measured: what they weigh too little and others too much
counts by the variances of fillers' and roles' squared vectors beyond what blocks explain (two-way, as Cameron, Gelbach & Miller 2011), and what vectors of different pairs share by chance by
tr C² of their covariance C times the variance of the same products of random tables f r (which vary more than random vectors, as bindings do
whose fillers and roles have vectors of their own). Both grow with the share's square, so the upper end is
that of the shares that a test does not refuse (as Fieller 1954): the interval is longer to the right.

Sources: Haseman & Elston 1972 (regression of products on kinship); Pazokitoroudi et al. 2020 (randomized traces); Walther et al. 2016
(cross-validated distances, crossnobis); Bell & McCaffrey 2002 and Kline, Saggio & Sølvsten 2020 (residuals of left-out groups); Efron & Stein 1981
(variance of U-statistics by blocks).
"""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Shaped
from scipy.sparse import csr_array

from tprprobe.errors import InputError
from tprprobe.estimators.bindings.block_kernels import Basis, Component, Projection
from tprprobe.estimators.bindings.block_moments import Moments, limit
from tprprobe.estimators.bindings.pair_counts import (
    Bindings,
    PairCounts,
    beyond_each,
    cooccur,
    divide_by_length,
    join_columns,
    split_by_count,
    subtract_expected,
    times,
)
from tprprobe.statistics import FEWEST_GROUPS, Interval

FEWEST_UNITS = 40
N_BLOCKS = 20  # that groups are joined to, at most
FREQUENT = 10  # units that a fixed filler or role has, at least
UNITS_PER_COLUMN, MAX_FIXED = 8, 320  # of the fixed columns of fillers
SIMILAR = 8  # fillers of several blocks that those of a single block are compared with, at least
UNITS_PER_BIN, MAX_BINS = 15, 12  # of length, for a fixed filler
PRINCIPAL, N_RANDOM = 48, 16  # directions of states that are measured, and random ones of the rest
FEW_PAIRS = 400  # whose covariance is used whole
STEPS = FILLERS, ROLES, BY_LENGTH, BINDINGS = ("fillers", "roles", "fillers × length", "bindings")


@dataclass
class BindingComponents:
    """The shares of variance of states that are due to fillers, roles, fillers × length and bindings, with 95 % intervals.

    Args:
        steps: Which steps are measured, the bindings last.
        random_state: Seed of the random vectors that calibrate moments, and of the blocks.

    Attributes:
        shares_: The share of each step (``fillers``, ``roles``, ``fillers × length``, ``bindings``), beyond those before, with its
            interval.
        bindings_: That of the bindings.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> sequences = [rng.integers(5, size=4) for _ in range(200)]
        >>> vectors = rng.normal(size=(5, 4, 16))
        >>> states = np.array([vectors[s, np.arange(4)].sum(0) for s in sequences])
        >>> bindings = [[(f, place) for place, f in enumerate(s)] for s in sequences]
        >>> BindingComponents().fit(bindings, states).bindings_.low > 0.5
        True
    """

    steps: Sequence[str] = STEPS
    random_state: int = 0
    shares_: dict[str, Interval] = field(init=False, repr=False)
    _key: str = field(init=False, repr=False, default="")
    _steps: "Steps" = field(init=False, repr=False)

    def fit(
        self,
        X: PairCounts | Sequence[PairCounts] | Bindings,
        y: Float64[np.ndarray, "unit d_model"],
        groups: Shaped[np.ndarray, " unit"] | None = None,
    ) -> "BindingComponents":
        """Estimates the shares; a further fit of the same pairs and groups is fast, whatever its states.

        Args:
            X: The (filler, role) pairs of every unit, or their counts (of every part that a unit is made of, such as a
                token itself and its context). Units of different groups with the same sequence are no independent
                units of a deterministic model: give one of them.
            y: The state of every unit.
            groups: The document of every unit; default: each is independent.

        Returns:
            Itself.

        Raises:
            InputError: Fewer than 40 units or 10 groups, or numbers of units that differ.
        """
        counts = _read_counts(X)
        groups = np.arange(len(counts[0])) if groups is None else pd.factorize(groups)[0]
        _check(len(counts[0]), y, groups)
        key = _digest(counts, groups, self.random_state)
        if key != self._key:
            self._key = key
            self._steps = Steps(counts, groups, self.random_state)
        states = narrow(y, self.random_state)
        self.shares_ = {step: self._steps.measure(step, states) for step in self.steps}
        if FILLERS in self.shares_:
            self.shares_[FILLERS] = self._limit(self.shares_[FILLERS])
        return self

    def _limit(self, fillers: Interval) -> Interval:
        """The share of fillers, at most what the further steps leave of 1: it is the least certain one."""
        further = [share.value for step, share in self.shares_.items() if step != FILLERS]
        return limit(fillers, 1 - np.nansum(np.fmax(0, further)))

    @property
    def bindings_(self) -> Interval:
        return self.shares_[BINDINGS]


def _read_counts(X: Any) -> Sequence[PairCounts]:
    if isinstance(X, PairCounts):
        return [X]
    return X if isinstance(X[0], PairCounts) else [PairCounts.from_bindings(X)]


def _digest(counts: Sequence[PairCounts], groups: np.ndarray, seed: int) -> str:
    digest = hashlib.sha256(f"{seed}".encode())
    for array in (groups, *(array for part in counts for array in part.arrays)):
        digest.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


def _check(n: int, y: np.ndarray, groups: np.ndarray) -> None:
    n_groups = len(np.unique(groups))
    if len(y) != n or len(groups) != n:
        raise InputError(f"{n} units, {len(y)} states, {len(groups)} groups: give as many of each")
    if n < FEWEST_UNITS or n_groups < FEWEST_GROUPS:
        raise InputError(
            f"{n} units of {n_groups} independent groups are too few for shares of variance: extract "
            f"{FEWEST_UNITS} units of {FEWEST_GROUPS} groups or more"
        )


def divide_into_blocks(groups: Int[np.ndarray, " unit"], seed: int) -> Int[np.ndarray, " unit"]:
    """The block of every unit: groups, the largest before, each to the block that has the fewest units."""
    sizes = np.bincount(groups)
    tie = np.random.default_rng(seed).permutation(len(sizes))
    block_of, units = np.empty(len(sizes), int), np.zeros(min(N_BLOCKS, len(sizes)))
    for group in np.lexsort((tie, -sizes)):
        block_of[group] = units.argmin()
        units[block_of[group]] += sizes[group]
    return block_of[groups]


def narrow(states: np.ndarray, seed: int) -> Float64[np.ndarray, "unit d"]:
    """The centred states; of many numbers the principal ones, and a random projection of the rest whose inner products
    are theirs on average.
    """
    states = np.asarray(states, float).reshape(len(states), -1)
    centred, width = states - states.mean(0), states.shape[1]
    if width <= PRINCIPAL + N_RANDOM:
        return centred
    axes = np.linalg.eigh(centred.T @ centred)[1]
    minor, n_rest = axes[:, :-PRINCIPAL], width - PRINCIPAL
    random_axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_rest, N_RANDOM)))[0]
    rest = minor @ random_axes * np.sqrt(n_rest / N_RANDOM)
    return centred @ np.hstack([axes[:, -PRINCIPAL:], rest])


def _number(counts: Sequence[PairCounts], name: str) -> Int[np.ndarray, " pair"]:
    """The fillers, or the roles, of the pairs of all counts; those of different counts differ."""
    numbers = [getattr(part, name) for part in counts]
    starts = np.cumsum([0, *(1 + of_part.max() for of_part in numbers)])
    return np.concatenate([start + n for start, n in zip(starts, numbers, strict=False)])


class Steps:
    """The nested steps of a decomposition of units, whose groups are joined to blocks: what each measures, beyond which fixed columns,
    beside which random components. Any states of the units are measured with them.
    """

    def __init__(self, counts: Sequence[PairCounts], groups: np.ndarray, seed: int):
        block = divide_into_blocks(groups, seed)
        self.order = order = np.argsort(block, kind="stable")
        self.seed, self.moments = seed, dict[str, Moments | None]()
        self.blocks = [
            slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *np.bincount(block)]))
        ]
        self.ones = np.ones(len(order))
        max_columns = min(MAX_FIXED, len(order) // UNITS_PER_COLUMN)
        fillers = join_columns(*(part.fillers for part in counts))[order]
        roles = join_columns(*(part.roles for part in counts))[order]
        self.fillers, self.rare = split_by_count(fillers, FREQUENT, max_columns // 3)
        self.all_fillers = self._split_measured(fillers, max_columns)
        self.roles, self.rare_roles = self._split_measured(roles, max_columns)
        pairs, unseen = zip(*map(subtract_expected, counts), strict=True)
        self.pairs, self.unseen = join_columns(*pairs)[order], sum(unseen)
        self.names = [_number(counts, name) for name in ("filler_of", "role_of")]
        lengths = counts[-1].lengths[order]
        self.rare_by_length = times(self.rare, lengths if counts[-1].has_shares else 1 / lengths)
        self.together = times(cooccur(fillers), 1 / lengths)
        units_per_bin = max(UNITS_PER_BIN, self.fillers.nnz // MAX_FIXED)
        columns = join_columns(self.ones, self.fillers)
        self.length = lengths
        self.by_length = divide_by_length(columns, lengths, units_per_bin, MAX_BINS)

    def _split_measured(self, counts: csr_array, max_columns: int) -> tuple[csr_array, csr_array]:
        """The frequent columns, and all others: of those of a single block, whose vectors no product measures, each is taken to be
        as long as another one, so that as many others (up to SIMILAR) are left beside them.
        """
        n_blocks = np.sum([np.diff(counts[units].tocsc().indptr) > 0 for units in self.blocks], 0)
        n_single, n_others = (n_blocks == 1).sum(), (n_blocks > 1).sum()
        n_fixed = n_others - min(n_single, SIMILAR)
        return split_by_count(counts, FREQUENT, int(np.clip(n_fixed, 0, max_columns)), min_rare=1)

    def measure(self, step: str, states: np.ndarray) -> Interval:
        """The share of a step in the states of the units, which :func:`narrow` has centred."""
        if step not in self.moments:
            self.moments[step] = self._prepare(step)
        moments = self.moments[step]
        return moments.measure(states[self.order]) if moments else Interval(0.0, 0.0, 0.0)

    def _prepare(self, step: str) -> Moments | None:
        """The moments of a step, None if it has no columns."""
        base = join_columns(self.ones)
        bag = join_columns(self.length, self.fillers)
        if step == FILLERS:
            frequent, rare = self.all_fillers
            bag = join_columns(self.length, frequent, np.asarray(rare.sum(1)))
            names = [np.arange(rare.shape[1])]  # pyright: ignore[reportOptionalSubscript]
            return self._draw(step, base, bag, [Component.random(rare, True, names)])
        rare = [Component.random(self.rare)]
        base = join_columns(base, bag)
        if step == ROLES:
            return self._draw(
                step, base, self.roles, [*rare, Component.random(self.rare_roles, True)]
            )
        base = join_columns(base, self.roles)
        rare += [Component.random(self.rare_roles)]
        if step == BY_LENGTH:
            beyond = beyond_each(self.rare_by_length, self.rare)
            return self._draw(step, base, self.by_length, [*rare, Component.random(beyond, True)])
        base = join_columns(base, self.by_length)
        rare += [Component.random(self.rare_by_length), Component.random(self.together)]
        if self.pairs.shape[1] <= min(FEW_PAIRS, len(self.order) // UNITS_PER_COLUMN):
            return self._draw(step, base, self.pairs, rare)
        bindings = Component.random(self.pairs, True, self.names, self.unseen)
        return self._draw(step, base, None, [*rare, bindings])

    def _draw(
        self,
        step: str,
        base: csr_array,
        columns: csr_array | None,
        components: list[Component],
    ) -> Moments | None:
        basis, inner = Basis.span(base), None  # most of the variance is fillers'
        if columns is not None and len(beyond := Basis.span(columns, basis)):
            components = [
                Component.fixed(beyond, Projection.prepare(basis, self.blocks)),
                *components,
            ]
            inner = Basis.span(join_columns(base, columns)) if step == FILLERS else None
        components = [component for component in components if component.numbers.any()]
        if not any(component.is_measured for component in components):
            return None
        return Moments.draw(basis, components, self.blocks, self.seed, inner)
