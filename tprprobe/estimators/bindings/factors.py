"""Factors of the bindings W (f ⊗ r): a higher-order SVD of free vectors V[f, r], then sweeps of alternating least squares.

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

from tprprobe.estimators.bindings.block_products import Block
from tprprobe.estimators.bindings.families import BINDING, Bases, Factor, make_block
from tprprobe.estimators.bindings.pairs import Pairs, starts_of
from tprprobe.estimators.bindings.ridge import Regression, conjugate_gradients, sum_blocks

MAX_RANKS, MAX_BOUND = (64, 32), 1024  # dimensions of fillers and of roles, and of their product
MAX_SYMBOLS = 2048  # the commonest of the shorter axis have factors
ROUNDING = 1e-5  # of the largest singular value
MAX_CHEAP, MAX_BESIDE = 200_000, 1000  # pairs by dimensions, and columns beside, of a cheap sweep
FEW_SWEEPS, MAX_SWEEPS = 1, 20  # of a dear fit, and at most
STEPS = 6  # of conjugate gradients a sweep: each goes on where the last one was
READOUT = 1e-3  # penalty of W
CONVERGED = 1e-4  # subspace distance of a sweep below which sweeps end

Ranks = tuple[int, int]
Readout = Float64[np.ndarray, "d_long d_short d"]
Vectors = Float64[np.ndarray, "pair d"]


def hosvd(vectors: Vectors, pairs: Pairs, ranks: Ranks | None = None) -> Bases:
    """F and R of the vectors of pairs (higher-order SVD, De Lathauwer et al. 2000), largest directions first, scaled by
    their singular values; of these ranks, or of MAX_RANKS at most, whose product is at most MAX_BOUND.
    """
    index = PairIndex(pairs)
    max_long, max_short = index.sort(ranks or MAX_RANKS)
    short = _short_factor(vectors, index)[:, :max_short]
    if not short.shape[1]:
        return np.zeros((len(pairs.fillers), 0)), np.zeros((len(pairs.roles), 0))
    weights = short / np.maximum(np.linalg.norm(short, axis=0), 1e-300)
    cells, shape = (index.long, np.arange(len(pairs))), (index.shape[0], len(pairs))
    projected = [csr_array((w[index.short], cells), shape) @ vectors for w in weights.T]
    long = left_singular_vectors(np.hstack(projected))[:, :max_long]
    bases = index.sort((long, short))
    return bases if ranks else truncate(bases, _limit(*bases))


def _short_factor(vectors: Vectors, index: "PairIndex") -> Factor:
    """The scaled left singular vectors of V unfolded along its shorter axis."""
    n_long, n_short = index.shape
    counts = np.bincount(index.short, minlength=n_short)
    commonest = np.argsort(-counts, kind="stable")[:MAX_SYMBOLS]
    row_of = np.full(n_short, -1)
    row_of[commonest] = np.arange(len(commonest))
    pair_ids = np.flatnonzero(row_of[index.short] >= 0)
    cells, shape = (row_of[index.short[pair_ids]], index.long[pair_ids]), (len(commonest), n_long)
    gram = np.zeros((len(commonest),) * 2)
    for column in vectors.T:
        unfolded = csr_array((column[pair_ids], cells), shape)
        is_sparse = unfolded.nnz < np.prod(shape) / 8
        unfolded = unfolded if is_sparse else unfolded.toarray()
        product = unfolded @ unfolded.T
        gram += product.toarray() if is_sparse else product
    values, axes = _spectrum(gram)
    factor = np.zeros((n_short, len(values)))
    factor[commonest] = axes * values
    return factor


def left_singular_vectors(unfolded: Float64[np.ndarray, "symbol column"]) -> Factor:
    """Scaled left singular vectors, by the smaller of the two Gram matrices."""
    if len(unfolded) <= unfolded.shape[1]:
        values, axes = _spectrum(unfolded @ unfolded.T)
        return axes * values
    return unfolded @ _spectrum(unfolded.T @ unfolded)[1]


def _spectrum(gram: Float64[np.ndarray, "_n _n"]) -> tuple[Float64[np.ndarray, " rank"], Factor]:
    """The singular values whose squares are the eigenvalues of a Gram matrix, and their axes, but for rounding."""
    values, axes = np.linalg.eigh(gram)
    values = np.sqrt(np.maximum(values[::-1], 0))
    is_large = values > ROUNDING * max(values[0], 1e-300)
    return values[is_large], axes[:, ::-1][:, is_large]


def _limit(fillers: Factor, roles: Factor) -> Ranks:
    """The largest dimensions of both, so that their product is at most MAX_BOUND."""
    ranks = [fillers.shape[1], roles.shape[1]]
    sizes = [np.linalg.norm(factor, axis=0) for factor in (fillers, roles)]
    sizes = [size / max(size[0], 1e-300) if len(size) else size for size in sizes]
    while ranks[0] * ranks[1] > MAX_BOUND:
        ranks[int(sizes[1][ranks[1] - 1] < sizes[0][ranks[0] - 1])] -= 1
    return ranks[0], ranks[1]


def ranks_of(bases: Bases) -> Ranks:
    return bases[0].shape[1], bases[1].shape[1]


def truncate(bases: Bases, ranks: Ranks) -> Bases:
    """The largest directions alone."""
    return bases[0][:, : ranks[0]], bases[1][:, : ranks[1]]


@dataclass(frozen=True, eq=False)
class AlternatingLeastSquares:
    """Factors of a part's bindings beside blocks of main effects, for vectors whose residuals have a variance."""

    regression: Regression
    blocks: Sequence[Block]
    penalties: Sequence[float]
    parts: Sequence[Pairs]
    part_id: int
    variance: float

    @functools.cached_property
    def index(self) -> "PairIndex":
        return PairIndex(self.parts[self.part_id])

    @property
    def rows(self) -> slice:
        """The part's pairs among those of all parts."""
        return slice(*starts_of(self.parts)[self.part_id : self.part_id + 2])

    def is_cheap(self, bases: Bases) -> bool:
        """True if there are few pairs, dimensions and columns beside, so that a fit takes many sweeps."""
        is_single = self.regression.grams.is_single
        n_beside = sum(block.width for block in self.blocks if not is_single(block))
        d_filler, d_role = ranks_of(bases)
        n_pairs = len(self.parts[self.part_id])
        return n_pairs * d_filler * d_role <= MAX_CHEAP and n_beside <= MAX_BESIDE

    def sweep(self, bases: Bases, max_sweeps: int = MAX_SWEEPS) -> Bases:
        """F and R after sweeps, largest directions first, scaled by their singular values."""
        long, short = (np.linalg.qr(factor)[0] for factor in self.index.sort(bases))
        readout = np.zeros((0, 0, 0))
        for _ in range(max_sweeps if self.is_cheap(bases) else FEW_SWEEPS):
            readout, residual = self._fit_readout(long, short)
            previous = long, short
            long, readout = self._fit_long(long, short, readout, residual)
            short, readout = self._fit_short(long, short, readout, residual)
            if max(map(subspace_distance, previous, (long, short))) < CONVERGED:
                break
        by_long = readout.reshape(len(readout), -1)
        by_short = np.moveaxis(readout, 1, 0).reshape(readout.shape[1], -1)
        factors = long @ left_singular_vectors(by_long), short @ left_singular_vectors(by_short)
        return self.index.sort(factors)

    def _fit_readout(self, long: Factor, short: Factor) -> tuple[Readout, Vectors]:
        """W, fitted with the main effects, and what these leave of XᵀE, centered."""
        bases = self.index.sort((long, short))
        block = make_block(BINDING, self.part_id, self.parts, bases=bases)
        *main, readout = self.regression.solve((*self.blocks, block), (*self.penalties, READOUT))
        readout = readout.reshape(*ranks_of(bases), -1)
        table = np.zeros_like(self.regression.cross) + sum_blocks(self.blocks, main)
        residual = self.regression.residual_cross_products(table)[self.rows]
        return (np.swapaxes(readout, 0, 1) if self.index.is_transposed else readout), residual

    def _image(self, vectors: Vectors) -> Vectors:
        """XᵀX of vectors of the part's pairs, X centered."""
        table = np.zeros((self.regression.grams.n_pairs, vectors.shape[1]))
        table[self.rows] = vectors
        return self.regression.grams.centered(table)[self.rows]

    @functools.cached_property
    def weights(self) -> csr_array:
        """The variation of every pair's count, [long, short]."""
        return self.index.unfold(self.regression.grams.squares()[self.rows])

    def _fit_long(
        self, long: Factor, short: Factor, readout: Readout, residual: Vectors
    ) -> tuple[Factor, Readout]:
        maps = np.einsum("bk,jkd->bjd", short, readout)
        squares = (maps @ maps.transpose(0, 2, 1)).reshape(len(maps), -1)
        factor = self._solve(
            long,
            lambda long: self.index.bind(long, maps),
            lambda vectors: self.index.bind_gradient_long(vectors, maps),
            self.weights @ squares,
            residual,
        )
        basis, change = np.linalg.qr(factor)
        return basis, np.einsum("ij,jkd->ikd", change, readout)

    def _fit_short(
        self, long: Factor, short: Factor, readout: Readout, residual: Vectors
    ) -> tuple[Factor, Readout]:
        j, k, _ = readout.shape
        outer = csr_array(self.weights.T) @ (long[:, :, None] * long[:, None, :]).reshape(
            len(long), -1
        )
        flat = readout.reshape(j * k, -1)
        product = (flat @ flat.T).reshape(j, k, j, k).transpose(0, 2, 1, 3).reshape(j * j, -1)

        def gradient(vectors: Vectors) -> Factor:
            of_maps = self.index.bind_gradient_maps(vectors, long)
            return np.einsum("bjd,jkd->bk", of_maps, readout, optimize=True)

        factor = self._solve(
            short,
            lambda short: self.index.bind(long, np.einsum("bk,jkd->bjd", short, readout)),
            gradient,
            outer @ product,
            residual,
        )
        basis, change = np.linalg.qr(factor)
        return basis, np.einsum("ij,kjd->kid", change, readout)

    def _solve(
        self,
        start: Factor,
        bind: Callable[[Factor], Vectors],
        gradient: Callable[[Vectors], Factor],
        diagonal: Any,
        residual: Vectors,
    ) -> Factor:
        """A few steps on from ``start`` towards the ridge fit of a factor whose V is ``bind(factor)``."""
        n, rank = start.shape
        penalty = self.variance * n
        inverse = np.linalg.inv(diagonal.reshape(n, rank, rank) + penalty * np.eye(rank))

        def apply(x: Factor) -> Factor:
            factor = x.reshape(n, rank)
            return (gradient(self._image(bind(factor))) + penalty * factor).reshape(-1, 1)

        def precondition(x: Factor) -> Factor:
            return (inverse @ x.reshape(n, rank, 1)).reshape(-1, 1)

        right = gradient(residual).reshape(-1, 1) - apply(start)
        return start + conjugate_gradients(apply, right, precondition, STEPS).reshape(n, rank)


class PairIndex:
    """The pairs of a part by symbols of the longer and of the shorter axis."""

    def __init__(self, pairs: Pairs):
        self.is_transposed = len(pairs.fillers) < len(pairs.roles)
        self.long, self.short = self.sort((pairs.filler_of, pairs.role_of))
        self.shape: tuple[int, int] = self.sort((len(pairs.fillers), len(pairs.roles)))

    @functools.cached_property
    def groups(self) -> list[np.ndarray]:
        """The pairs of every symbol of the shorter axis."""
        order = np.argsort(self.short, kind="stable")
        ends = np.cumsum(np.bincount(self.short, minlength=self.shape[1]))
        return np.split(order, ends[:-1])

    def sort(self, axes: tuple[Any, Any]) -> tuple[Any, Any]:
        """(fillers, roles) sorted into (longer axis, shorter axis), or sorted back."""
        return axes[::-1] if self.is_transposed else axes

    def unfold(self, values: Float64[np.ndarray, " pair"]) -> csr_array:
        """Numbers of pairs, [long, short]."""
        return csr_array((values, (self.long, self.short)), self.shape)

    def bind(self, long: Factor, maps: Float64[np.ndarray, "short d_long d"]) -> Vectors:
        """V of every pair: the long symbol's row, by the map of the short one."""
        vectors = np.empty((len(self.long), maps.shape[2]))
        for ids, matrix in zip(self.groups, maps, strict=True):
            vectors[ids] = long[self.long[ids]] @ matrix
        return vectors

    def bind_gradient_long(
        self, vectors: Vectors, maps: Float64[np.ndarray, "short d_long d"]
    ) -> Factor:
        """The gradient of ``bind`` by long."""
        gradient = np.zeros((self.shape[0], maps.shape[1]))
        for ids, matrix in zip(self.groups, maps, strict=True):
            gradient[self.long[ids]] += vectors[ids] @ matrix.T
        return gradient

    def bind_gradient_maps(
        self, vectors: Vectors, long: Factor
    ) -> Float64[np.ndarray, "short d_long d"]:
        """The gradient of ``bind`` by maps."""
        return np.stack([long[self.long[ids]].T @ vectors[ids] for ids in self.groups])


def subspace_distance(basis: Factor, right: Factor) -> float:
    """How far one subspace is turned from another, 0 to 1, on average over directions."""
    return 1 - float(np.sum((basis.T @ right) ** 2)) / max(1, basis.shape[1])
