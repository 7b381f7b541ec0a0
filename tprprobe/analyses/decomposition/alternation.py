"""Alternating ridge: factors of fillers and of roles, each fitted with the other and the readout held.

The higher-order SVD of free vectors, where sweeps start, ignores how often pairs occur; sweeps do not. Once a
sweep main effects and W are fitted together; entries of F and of R have a normal prior of mean square 1/n.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.families import bound_block
from tprprobe.analyses.decomposition.interactions import Factor, principal
from tprprobe.analyses.decomposition.pair_counts import Pairs, starts_of
from tprprobe.analyses.decomposition.ridge import Regression, conjugate_gradients, table_of

SMALL, WIDE = 200_000, 1000  # pairs by dimensions, and columns beside, up to which a sweep is cheap
FEW, MOST = 1, 20  # sweeps of a dear fit, and at most
STEPS = 6  # of conjugate gradients a sweep: each goes on where the last one was
READOUT = 1e-3  # penalty of W
STILL = 1e-4  # share by which directions move, below which sweeps end

Bases = tuple[Factor, Factor]
Readout = Float64[np.ndarray, "d_long d_short d"]
Vectors = Float64[np.ndarray, "pair d"]


@dataclass(frozen=True, eq=False)
class Alternation:
    """Factors of a part's bindings beside blocks of main effects, for vectors whose rest has a variance."""

    regression: Regression
    blocks: Sequence[Block]
    penalties: Sequence[float]
    parts: Sequence[Pairs]
    part: int
    variance: float

    @property
    def rows(self) -> slice:
        """Where the part's pairs are among those of all parts."""
        return slice(*starts_of(self.parts)[self.part : self.part + 2])

    def is_cheap(self, bases: Bases) -> bool:
        """True if there are few pairs, dimensions and columns beside, so that a fit takes many sweeps."""
        size = len(self.parts[self.part]) * bases[0].shape[1] * bases[1].shape[1]
        grams = self.regression.grams
        beside = sum(each.width for each in self.blocks if not grams.is_single(each))
        return size <= SMALL and beside <= WIDE

    def sweep(self, bases: Bases, most: int = MOST) -> Bases:
        """F and R after sweeps, largest directions first, scaled by their singular values."""
        times = most if self.is_cheap(bases) else FEW
        table = Table(self.parts[self.part])
        f, r = (np.linalg.qr(of)[0] for of in table.sort(bases))
        w, rest = self._read(table, f, r)
        for number in range(times):
            if number:
                w, rest = self._read(table, f, r)
            before = f, r
            f, w = self._fit_long(table, f, r, w, rest)
            r, w = self._fit_short(table, f, r, w, rest)
            if max(map(_turn, before, (f, r))) < STILL:
                break
        turned = np.moveaxis(w, 1, 0).reshape(w.shape[1], -1)
        return table.sort((f @ principal(w.reshape(len(w), -1)), r @ principal(turned)))

    def _read(self, table: "Table", long: Factor, short: Factor) -> tuple[Readout, Vectors]:
        """W, fitted with the main effects, and what these leave of XᵀE, centered."""
        block = bound_block(table.sort((long, short)), self.part, self.parts)
        *main, w = self.regression.solve((*self.blocks, block), (*self.penalties, READOUT))
        w = w.reshape(*(of.shape[1] for of in table.sort((long, short))), -1)
        beside = np.zeros_like(self.regression.cross) + table_of(self.blocks, main)
        rest = self.regression.left_by(beside)[self.rows]
        return (np.swapaxes(w, 0, 1) if table.turned else w), rest

    def _image(self, vectors: Vectors) -> Vectors:
        """XᵀX of vectors of the part's pairs, X centered."""
        whole = np.zeros((self.regression.grams.pairs, vectors.shape[1]))
        whole[self.rows] = vectors
        return self.regression.grams.centered(whole)[self.rows]

    def _fit_long(
        self, table: "Table", long: Factor, short: Factor, w: Readout, rest: Vectors
    ) -> tuple[Factor, Readout]:
        held = np.einsum("bk,jkd->bjd", short, w)
        squares = held @ held.transpose(0, 2, 1)
        weights = table.weights(self.regression.grams.squares()[self.rows])
        blocks = weights @ squares.reshape(len(held), -1)
        maps = (lambda of: table.spread(of, held), lambda of: table.fold_long(of, held))
        found = self._solve(long, *maps, blocks, rest)
        basis, change = np.linalg.qr(found)
        return basis, np.einsum("ij,jkd->ikd", change, w)

    def _fit_short(
        self, table: "Table", long: Factor, short: Factor, w: Readout, rest: Vectors
    ) -> tuple[Factor, Readout]:
        j, k, _ = w.shape
        weights = csr_array(table.weights(self.regression.grams.squares()[self.rows]).T)
        outer = weights @ (long[:, :, None] * long[:, None, :]).reshape(len(long), -1)
        flat = w.reshape(j * k, -1)
        product = (flat @ flat.T).reshape(j, k, j, k).transpose(0, 2, 1, 3).reshape(j * j, -1)
        found = self._solve(
            short,
            lambda of: table.spread(long, np.einsum("bk,jkd->bjd", of, w)),
            lambda of: np.einsum("bjd,jkd->bk", table.fold_short(of, long), w, optimize=True),
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

        left = fold(rest).reshape(-1, 1) - apply(start)
        step = conjugate_gradients(
            apply, left, lambda x: (inverse @ x.reshape(n, rank, 1)).reshape(-1, 1), STEPS
        )
        return start + step.reshape(n, rank)


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
        """Of fillers and roles: of the longer axis, of the shorter one; and back."""
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
