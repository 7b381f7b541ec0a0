"""Factors of the bindings W (f ⊗ r): a higher-order SVD of free vectors V[f, r], then sweeps of alternating ridge.

Factors are scaled by their singular values, so that a ridge on W (f ⊗ r) has the prior that the table
itself suggests: small directions are shrunk more. The SVD ignores how often pairs occur; sweeps do not. Once a
sweep main effects and W are fitted together; entries of F and of R have a normal prior of mean square 1/n.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.designs import Pairs, starts_of
from tprprobe.analyses.decomposition.families import BINDING, Bases, Factor, make_block
from tprprobe.analyses.decomposition.ridge import Regression, conjugate_gradients, table_of

MOST_FILLERS, MOST_ROLES, MOST_BOUND = 64, 32, 1024  # dimensions
MOST_SYMBOLS = 2048  # the commonest of the shorter axis have factors
ROUNDING = 1e-5  # of the largest singular value
SMALL, WIDE = 200_000, 1000  # pairs by dimensions, and columns beside, up to which a sweep is cheap
FEW, MOST = 1, 20  # sweeps of a dear fit, and at most
STEPS = 6  # of conjugate gradients a sweep: each goes on where the last one was
READOUT = 1e-3  # penalty of W
STILL = 1e-4  # share by which directions move, below which sweeps end

Ranks = tuple[int, int]
Readout = Float64[np.ndarray, "d_long d_short d"]
Vectors = Float64[np.ndarray, "pair d"]


def factor_table(vectors: Vectors, pairs: Pairs, most: Ranks | None = None) -> Bases:
    """F and R of the vectors of pairs, largest directions first, scaled by their singular values; at most so
    many dimensions each, and MOST_BOUND of their product where no number is set.
    """
    axes = (pairs.filler_of, pairs.role_of)
    sizes, limits = (len(pairs.fillers), len(pairs.roles)), most or (MOST_FILLERS, MOST_ROLES)
    short = 0 if sizes[0] < sizes[1] else 1
    own, other, n = axes[short], axes[1 - short], (sizes[short], sizes[1 - short])
    first = _principal_short(vectors, own, other, n)[:, : limits[short]]
    if not first.shape[1]:
        return np.zeros((sizes[0], 0)), np.zeros((sizes[1], 0))
    weights = first / np.maximum(np.linalg.norm(first, axis=0), 1e-300)
    at = (other, np.arange(len(own)))
    projected = [csr_array((w[own], at), (n[1], len(own))) @ vectors for w in weights.T]
    second = principal(np.hstack(projected))[:, : limits[1 - short]]
    found = (first, second) if short == 0 else (second, first)
    return found if most else first_of(found, _limit(*found))


def _principal_short(vectors: Vectors, own: np.ndarray, other: np.ndarray, sizes: Ranks) -> Factor:
    """The scaled left singular vectors of V unfolded along its shorter axis."""
    common = np.argsort(-np.bincount(own, minlength=sizes[0]), kind="stable")[:MOST_SYMBOLS]
    place = np.full(sizes[0], -1)
    place[common] = np.arange(len(common))
    known = np.flatnonzero(place[own] >= 0)
    gram, shape = np.zeros((len(common),) * 2), (len(common), sizes[1])
    for column in vectors.T:
        m = csr_array((column[known], (place[own[known]], other[known])), shape)
        is_sparse = m.nnz < np.prod(shape) / 8
        m = m if is_sparse else m.toarray()
        gram += (m @ m.T).toarray() if is_sparse else m @ m.T
    values, axes = _spectrum(gram)
    found = np.zeros((sizes[0], len(values)))
    found[common] = axes * values
    return found


def principal(unfolded: Float64[np.ndarray, "symbol column"]) -> Factor:
    """Scaled left singular vectors, by the smaller of the two Gram matrices."""
    if len(unfolded) <= unfolded.shape[1]:
        values, axes = _spectrum(unfolded @ unfolded.T)
        return axes * values
    return unfolded @ _spectrum(unfolded.T @ unfolded)[1]


def _spectrum(gram: Float64[np.ndarray, "_n _n"]) -> tuple[Float64[np.ndarray, " kept"], Factor]:
    """The singular values whose squares are the eigenvalues of a Gram matrix, and their axes, but for rounding."""
    values, axes = np.linalg.eigh(gram)
    values = np.sqrt(np.maximum(values[::-1], 0))
    kept = values > ROUNDING * max(values[0], 1e-300)
    return values[kept], axes[:, ::-1][:, kept]


def _limit(fillers: Factor, roles: Factor) -> Ranks:
    """The largest dimensions of both, so that their product is at most MOST_BOUND."""
    ranks = [fillers.shape[1], roles.shape[1]]
    sizes = [np.linalg.norm(of, axis=0) for of in (fillers, roles)]
    sizes = [of / max(of[0], 1e-300) if len(of) else of for of in sizes]
    while ranks[0] * ranks[1] > MOST_BOUND:
        ranks[int(sizes[1][ranks[1] - 1] < sizes[0][ranks[0] - 1])] -= 1
    return ranks[0], ranks[1]


def ranks_of(bases: Bases) -> Ranks:
    return bases[0].shape[1], bases[1].shape[1]


def first_of(bases: Bases, ranks: Ranks) -> Bases:
    """The largest directions alone."""
    return bases[0][:, : ranks[0]], bases[1][:, : ranks[1]]


@dataclass(frozen=True, eq=False)
class Alternation:
    """Factors of a part's bindings beside blocks of main effects, for vectors whose rest has a variance."""

    regression: Regression
    blocks: Sequence[Block]
    penalties: Sequence[float]
    parts: Sequence[Pairs]
    part: int
    variance: float

    @functools.cached_property
    def table(self) -> "Table":
        return Table(self.parts[self.part])

    @property
    def rows(self) -> slice:
        """Where the part's pairs are among those of all parts."""
        return slice(*starts_of(self.parts)[self.part : self.part + 2])

    def is_cheap(self, bases: Bases) -> bool:
        """True if there are few pairs, dimensions and columns beside, so that a fit takes many sweeps."""
        is_single = self.regression.grams.is_single
        beside = sum(each.width for each in self.blocks if not is_single(each))
        d_filler, d_role = ranks_of(bases)
        return len(self.parts[self.part]) * d_filler * d_role <= SMALL and beside <= WIDE

    def sweep(self, bases: Bases, most: int = MOST) -> Bases:
        """F and R after sweeps, largest directions first, scaled by their singular values."""
        f, r = (np.linalg.qr(of)[0] for of in self.table.sort(bases))
        w = np.zeros((0, 0, 0))
        for _ in range(most if self.is_cheap(bases) else FEW):
            w, rest = self._read(f, r)
            before = f, r
            f, w = self._fit_long(f, r, w, rest)
            r, w = self._fit_short(f, r, w, rest)
            if max(map(_turn, before, (f, r))) < STILL:
                break
        turned = np.moveaxis(w, 1, 0).reshape(w.shape[1], -1)
        return self.table.sort((f @ principal(w.reshape(len(w), -1)), r @ principal(turned)))

    def _read(self, long: Factor, short: Factor) -> tuple[Readout, Vectors]:
        """W, fitted with the main effects, and what these leave of XᵀE, centered."""
        bases = self.table.sort((long, short))
        block = make_block(BINDING, self.part, self.parts, bases=bases)
        *main, w = self.regression.solve((*self.blocks, block), (*self.penalties, READOUT))
        w = w.reshape(*ranks_of(bases), -1)
        beside = np.zeros_like(self.regression.cross) + table_of(self.blocks, main)
        rest = self.regression.left_by(beside)[self.rows]
        return (np.swapaxes(w, 0, 1) if self.table.turned else w), rest

    def _image(self, vectors: Vectors) -> Vectors:
        """XᵀX of vectors of the part's pairs, X centered."""
        whole = np.zeros((self.regression.grams.pairs, vectors.shape[1]))
        whole[self.rows] = vectors
        return self.regression.grams.centered(whole)[self.rows]

    def _fit_long(
        self, long: Factor, short: Factor, w: Readout, rest: Vectors
    ) -> tuple[Factor, Readout]:
        held = np.einsum("bk,jkd->bjd", short, w)
        squares = held @ held.transpose(0, 2, 1)
        weights = self.table.weights(self.regression.grams.squares()[self.rows])
        blocks = weights @ squares.reshape(len(held), -1)
        maps = (lambda of: self.table.spread(of, held), lambda of: self.table.fold_long(of, held))
        basis, change = np.linalg.qr(self._solve(long, *maps, blocks, rest))
        return basis, np.einsum("ij,jkd->ikd", change, w)

    def _fit_short(
        self, long: Factor, short: Factor, w: Readout, rest: Vectors
    ) -> tuple[Factor, Readout]:
        j, k, _ = w.shape
        weights = csr_array(self.table.weights(self.regression.grams.squares()[self.rows]).T)
        outer = weights @ (long[:, :, None] * long[:, None, :]).reshape(len(long), -1)
        flat = w.reshape(j * k, -1)
        product = (flat @ flat.T).reshape(j, k, j, k).transpose(0, 2, 1, 3).reshape(j * j, -1)
        found = self._solve(
            short,
            lambda of: self.table.spread(long, np.einsum("bk,jkd->bjd", of, w)),
            lambda of: np.einsum("bjd,jkd->bk", self.table.fold_short(of, long), w, optimize=True),
            outer @ product,
            rest,
        )
        basis, change = np.linalg.qr(found)
        return basis, np.einsum("ij,kjd->kid", change, w)

    def _solve(
        self,
        start: Factor,
        spread: Callable[[Factor], Vectors],
        fold: Callable[[Vectors], Factor],
        blocks: Any,
        rest: Vectors,
    ) -> Factor:
        """A few steps on from ``start`` towards the ridge fit of a factor whose V is ``spread(factor)``."""
        n, rank = start.shape
        penalty = self.variance * n
        inverse = np.linalg.inv(blocks.reshape(n, rank, rank) + penalty * np.eye(rank))

        def apply(x: Factor) -> Factor:
            factor = x.reshape(n, rank)
            return (fold(self._image(spread(factor))) + penalty * factor).reshape(-1, 1)

        def precondition(x: Factor) -> Factor:
            return (inverse @ x.reshape(n, rank, 1)).reshape(-1, 1)

        left = fold(rest).reshape(-1, 1) - apply(start)
        return start + conjugate_gradients(apply, left, precondition, STEPS).reshape(n, rank)


class Table:
    """The pairs of a part by symbols of the longer and of the shorter axis."""

    def __init__(self, pairs: Pairs):
        self.turned = len(pairs.fillers) < len(pairs.roles)
        self.long, self.short = self.sort((pairs.filler_of, pairs.role_of))
        self.sizes = self.sort((len(pairs.fillers), len(pairs.roles)))
        order = np.argsort(self.short, kind="stable")
        ends = np.cumsum(np.bincount(self.short, minlength=self.sizes[1]))
        self.groups = np.split(order, ends[:-1])  # the pairs of every symbol of the shorter axis

    def sort(self, of: tuple[Any, Any]) -> tuple[Any, Any]:
        """(fillers, roles) sorted into (longer axis, shorter axis), or sorted back."""
        return of[::-1] if self.turned else of

    def weights(self, of_pair: Float64[np.ndarray, " pair"]) -> csr_array:
        """Numbers of pairs, [long, short]."""
        return csr_array((of_pair, (self.long, self.short)), self.sizes)

    def spread(self, long: Factor, held: Float64[np.ndarray, "short d_long d"]) -> Vectors:
        """V of every pair, held[short] being a map of long's rows."""
        found = np.empty((len(self.long), held.shape[2]))
        for at, of in zip(self.groups, held, strict=True):
            found[at] = long[self.long[at]] @ of
        return found

    def fold_long(self, v: Vectors, held: Float64[np.ndarray, "short d_long d"]) -> Factor:
        """The gradient of ``spread`` by long."""
        found = np.zeros((self.sizes[0], held.shape[1]))
        for at, of in zip(self.groups, held, strict=True):
            found[self.long[at]] += v[at] @ of.T
        return found

    def fold_short(self, v: Vectors, long: Factor) -> Float64[np.ndarray, "short d_long d"]:
        """The gradient of ``spread`` by held."""
        return np.stack([long[self.long[at]].T @ v[at] for at in self.groups])


def _turn(one: Factor, other: Factor) -> float:
    """How far one subspace is turned from another, 0 to 1, on average over directions."""
    return 1 - float(np.sum((one.T @ other) ** 2)) / max(1, one.shape[1])
