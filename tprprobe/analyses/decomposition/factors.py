"""Systematic binding, V[f, r] = W (f ⊗ r) with few dimensions of fillers and roles: alternating ridge.

Minimized is Σ |e − X V − b|² + λ |V|². Each of W, F and R has a closed form given the other two, so no
sweep makes it larger. F and R are kept orthonormal, which changes no V. The start is the
higher-order SVD of the saturated fit, so a fit has no seed.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.pair_batches import batch_pairs
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.pair_moments import DENSE, PairMoments
from tprprobe.analyses.decomposition.ridge import conjugate_gradients, solve_positive

SWEEPS, STILL = 30, 1e-4  # at most so many; fewer where the error falls by less than this share
STEPS = 4  # of conjugate gradients a sweep: each goes on where the last one was
SMALL = 400  # unknowns of F or R up to which they are solved for directly: of more, steps cost less
SHORT = 250  # fillers or roles whose start is found exactly; of more of them, by
POWERS, SPARE = 4, 16  # steps of subspace iteration, with so many directions to spare
Factor = Float64[np.ndarray, "_symbol _rank"]
Start = tuple[Factor, Factor]
Kernel = Float64[np.ndarray, "_own _other _own _other"]  # W Wᵀ


@dataclass(frozen=True, eq=False)
class Factors:
    """f of every filler, r of every role, and W: ``V[f, r] = Σ f_j r_k W[j, k]``."""

    fillers: Float64[np.ndarray, "filler d_filler"]
    roles: Float64[np.ndarray, "role_ d_role"]
    readout: Float64[np.ndarray, "d_filler d_role d_model"]

    @property
    def ranks(self) -> tuple[int, int]:
        """d_filler and d_role."""
        return self.fillers.shape[1], self.roles.shape[1]

    @property
    def parameters(self) -> int:
        """Free numbers: those of F, R and W, less the two changes of basis that change no V."""
        sizes = self.fillers.size + self.roles.size + self.readout.size
        return sizes - sum(rank * rank for rank in self.ranks)

    def vectors(
        self, filler_of: Int[np.ndarray, " pair"], role_of: Int[np.ndarray, " pair"]
    ) -> Float64[np.ndarray, "pair d_model"]:
        """V of pairs, seen or not."""
        bound = bind_rows(self.fillers[filler_of], self.roles[role_of])
        return bound @ self.readout.reshape(bound.shape[1], -1)


def fit_factors(
    moments: PairMoments,
    pairs: Pairs,
    ranks: tuple[int, int],
    penalty: float,
    start: Start,
    sweeps: int = SWEEPS,
) -> Factors:
    """The factors of these ranks, by alternating ridge from a start on."""
    problem = pose(moments, pairs, penalty, ranks)
    fillers, roles = (axis[:, :rank] for axis, rank in zip(start, ranks, strict=True))
    weights, explained = problem.readout(fillers, roles)
    for _ in range(sweeps):
        fillers, weights = _orthonormal(problem.factor(fillers, roles, weights, 0), weights, 0)
        roles, weights = _orthonormal(problem.factor(roles, fillers, weights, 1), weights, 1)
        weights, more = problem.readout(fillers, roles)
        still = more - explained < STILL * max(moments.variation - more, 0.0)
        explained = more
        if still:
            break
    return Factors(fillers, roles, weights.reshape(*ranks, -1))


def pose(
    moments: PairMoments, pairs: Pairs, penalty: float, ranks: tuple[int, int]
) -> "Grid | PairList":
    """The problem of these moments, with λ = penalty · tr(g)/pairs: on a grid where that is held and the
    systems of F and of R are small.
    """
    most = max(len(pairs.fillers) * ranks[0], len(pairs.roles) * ranks[1])
    kind = Grid if most <= SMALL and pairs.cells <= DENSE else PairList
    return kind(moments, pairs, penalty * moments.mean_variance)


def find_start(
    vectors: Float64[np.ndarray, "pair d_model"], pairs: Pairs, most: tuple[int, int]
) -> Start:
    """Orthonormal bases of fillers and of roles, the directions that most of V is along first: at least
    as many as ``most`` says, where there are as many.
    """
    return _principal(vectors, pairs, 0, most[0]), _principal(vectors, pairs, 1, most[1])


def bind_rows(
    one: Float64[np.ndarray, "pair d_filler"], other: Float64[np.ndarray, "pair d_role"]
) -> Float64[np.ndarray, "pair bound"]:
    """f ⊗ r, row by row."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def _principal(
    vectors: Float64[np.ndarray, "pair d_model"], pairs: Pairs, axis: int, most: int
) -> Factor:
    """The first left singular vectors of V unfolded along an axis: M, never made, has a column for every
    number of every symbol of the other axis. A long axis is searched by subspace iteration.

    Source: Halko, Martinsson and Tropp 2011, Algorithm 4.4.
    """
    of, n = (pairs.filler_of, pairs.role_of), (len(pairs.fillers), len(pairs.roles))[axis]
    batches, own = list(batch_pairs(of[1 - axis])), _indicator(of[axis], n)

    def square(basis: Factor) -> Factor:
        """M Mᵀ times a basis."""
        image = np.empty((len(vectors), basis.shape[1]))
        for _, at in batches:
            part = vectors[at]
            image[at] = part @ (part.transpose(0, 2, 1) @ basis[of[axis][at]])
        return np.asarray(own @ image)

    basis = np.eye(n)
    if n > SHORT and n > most + SPARE:
        basis = np.random.default_rng(0).normal(size=(n, most + SPARE))
        for _ in range(POWERS):
            basis = np.linalg.qr(square(basis))[0]
    return basis @ np.linalg.eigh(basis.T @ square(basis))[1][:, ::-1]


def _indicator(of: Int[np.ndarray, " pair"], n: int) -> csr_array:
    """1 where a pair, a column, has a symbol, a row: times values of pairs, their sums by symbol."""
    return csr_array((np.ones(len(of)), (of, np.arange(len(of)))), (n, len(of)))


def _orthonormal(factor: Factor, weights: Factor, axis: int) -> tuple[Factor, Factor]:
    """An orthonormal basis of a factor, and W in it."""
    basis, change = np.linalg.qr(factor)
    own = change.shape[0]
    shaped = weights.reshape(own, -1, weights.shape[1]) if axis == 0 else _swap(weights, own)
    changed = np.einsum("ij,jkd->ikd", change, shaped)
    if axis:
        changed = changed.transpose(1, 0, 2)
    return basis, np.ascontiguousarray(changed).reshape(weights.shape)


def _swap(weights: Factor, own: int) -> Float64[np.ndarray, "own other d_model"]:
    return weights.reshape(-1, own, weights.shape[1]).transpose(1, 0, 2)


def _kernel(weights: Factor, own: int, axis: int) -> Kernel:
    """W Wᵀ, own axis first."""
    other = len(weights) // own
    product = weights @ weights.T
    if axis == 0:
        return product.reshape(own, other, own, other)
    return product.reshape(other, own, other, own).transpose(1, 0, 3, 2)


class Grid:
    """Few pairs: g and c on the grid of all fillers by all roles, and every system solved directly."""

    def __init__(self, moments: PairMoments, pairs: Pairs, penalty: float):
        self.shape, self.penalty = (len(pairs.fillers), len(pairs.roles)), penalty
        self.g = np.zeros((pairs.cells, pairs.cells))
        self.g[np.ix_(pairs.codes, pairs.codes)] = moments.scatter
        self.c = np.zeros((pairs.cells, moments.cross.shape[1]))
        self.c[pairs.codes] = moments.centred_cross
        four = self.g.reshape(*self.shape, *self.shape)
        self.unfolded = [
            np.ascontiguousarray(four.transpose(order)).reshape(own**2, -1)
            for order, own in zip(((0, 2, 1, 3), (1, 3, 0, 2)), self.shape, strict=True)
        ]

    def readout(self, fillers: Factor, roles: Factor) -> tuple[Factor, float]:
        """W [d_filler·d_role, d_model], and how much it explains of Σ |e − ē|², penalty included."""
        bound = np.kron(fillers, roles)
        right = bound.T @ self.c
        weights = solve_positive(bound.T @ (self.g @ bound), right, self.penalty)
        return weights, float(np.sum(weights * right))

    def factor(self, own: Factor, other: Factor, weights: Factor, axis: int) -> Factor:
        """F (axis 0) or R (axis 1) given the other one and W."""
        n, rank = own.shape
        kernel = _kernel(weights, rank, axis)
        inner = np.einsum("bj,kjlm,cm->bckl", other, kernel, other, optimize=True)
        system = (self.unfolded[axis] @ inner.reshape(-1, rank**2)).reshape(n, n, rank, rank)
        system = np.ascontiguousarray(system.transpose(0, 2, 1, 3))
        each = np.arange(n)
        system[each, :, each, :] += self.penalty * np.einsum("bbkl->kl", inner)
        right = (self.c @ weights.T).reshape(*self.shape, *_sides(rank, weights, axis))
        right = np.einsum("bj,abkj->ak" if axis == 0 else "bj,bajk->ak", other, right)
        return solve_positive(system.reshape(n * rank, -1), right.reshape(-1, 1)).reshape(n, rank)


class PairList:
    """Many pairs: nothing is held but the pairs that occur, and systems are solved step by step."""

    def __init__(self, moments: PairMoments, pairs: Pairs, penalty: float):
        self.moments, self.penalty = moments, penalty
        self.of = (pairs.filler_of, pairs.role_of)
        diagonal = np.asarray(moments.counts.power(2).sum(0)).reshape(-1)
        self.diagonal = diagonal - moments.n * moments.mean_counts**2 + penalty
        sizes = (len(pairs.fillers), len(pairs.roles))
        self.batches = [list(batch_pairs(of)) for of in self.of]
        self.sums = [_indicator(of, n) for of, n in zip(self.of, sizes, strict=True)]

    def readout(self, fillers: Factor, roles: Factor) -> tuple[Factor, float]:
        """As of :class:`Grid`."""
        bound = bind_rows(fillers[self.of[0]], roles[self.of[1]])
        right = bound.T @ self.moments.centred_cross
        system = bound.T @ (self.moments.times(bound) + self.penalty * bound)
        weights = solve_positive(system, right)
        return weights, float(np.sum(weights * right))

    def factor(self, own: Factor, other: Factor, weights: Factor, axis: int) -> Factor:
        """As of :class:`Grid`, by a few steps on from ``own``, in the directions that W has."""
        (n, rank), (directions, short) = own.shape, np.linalg.qr(weights.T)
        shaped = short.T.reshape(rank, -1, len(short)) if axis == 0 else _swap(short.T, rank)
        given = np.tensordot(other, shaped, (1, 1))  # [other, own, d]; V is own times this
        batches, of = self.batches[1 - axis], self.of[axis]

        def vectors(factor: Factor) -> Float64[np.ndarray, "pair d"]:
            found = np.empty((len(of), given.shape[2]))
            for symbols, at in batches:
                found[at] = factor[of[at]] @ given[symbols]
            return found

        def gather(values: Float64[np.ndarray, "pair d"]) -> Factor:
            found = np.empty((len(of), rank))
            for symbols, at in batches:
                found[at] = values[at] @ given[symbols].transpose(0, 2, 1)
            return np.asarray(self.sums[axis] @ found)

        def apply(factor: Factor) -> Factor:
            v = vectors(factor.reshape(n, rank))
            return gather(self.moments.times(v) + self.penalty * v).reshape(-1, 1)

        inverse = np.linalg.inv(self._blocks(given, n, axis))
        return conjugate_gradients(
            apply,
            gather(self.moments.centred_cross @ directions).reshape(-1, 1),
            lambda rest: (inverse @ rest.reshape(n, rank, 1)).reshape(-1, 1),
            own.reshape(-1, 1),
            STEPS,
        ).reshape(n, rank)

    def _blocks(
        self, given: Float64[np.ndarray, "other own d"], n: int, axis: int
    ) -> Float64[np.ndarray, "symbol own own"]:
        """What the system is if no two pairs occur together: a block a symbol."""
        of = csr_array((self.diagonal, (self.of[axis], self.of[1 - axis])), (n, len(given)))
        rank = given.shape[1]
        blocks = (of @ (given @ given.transpose(0, 2, 1)).reshape(len(given), -1)).reshape(
            n, rank, rank
        )
        least = 1e-9 * np.einsum("nkk->n", blocks) / rank + 1e-12
        return blocks + least[:, None, None] * np.eye(rank)


def _sides(rank: int, weights: Factor, axis: int) -> tuple[int, int]:
    """d_filler and d_role."""
    other = len(weights) // rank
    return (rank, other) if axis == 0 else (other, rank)
