"""Moments of pair counts and vectors: all that a decomposition is a function of."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64
from scipy.sparse import csr_array, vstack

DENSE = 2500  # columns up to which XᵀX is one array
SPARSE_COST = 8  # of an entry of a sparse matrix, in those of a dense one
CHUNK = 2**16  # rows whose predictions are held at once


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Counts X [unit, pair] of units, and of their vectors E: XᵀE, Σ e and Σ |e|².

    X is kept, sparse, in place of XᵀX: of long sequences over many fillers it is the smaller one.
    """

    counts: csr_array
    cross: Float64[np.ndarray, "pair d_model"]
    total: Float64[np.ndarray, " d_model"]
    squares: float

    @property
    def n(self) -> int:
        return len(self.counts.indptr) - 1

    @functools.cached_property
    def mean(self) -> Float64[np.ndarray, " d_model"]:
        """ē."""
        return self.total / max(1, self.n)

    @functools.cached_property
    def mean_counts(self) -> Float64[np.ndarray, " pair"]:
        """x̄."""
        return np.asarray(self.counts.sum(0)).reshape(-1) / max(1, self.n)

    @functools.cached_property
    def scatter(self) -> Float64[np.ndarray, "pair pair"]:
        """g = XᵀX − n x̄x̄ᵀ, for few pairs."""
        whole = np.asarray((self.counts.T @ self.counts).todense())
        return whole - self.n * np.outer(self.mean_counts, self.mean_counts)

    @functools.cached_property
    def centred_cross(self) -> Float64[np.ndarray, "pair d_model"]:
        """c = XᵀE − n x̄ēᵀ."""
        return self.cross - self.n * np.outer(self.mean_counts, self.mean)

    @functools.cached_property
    def variation(self) -> float:
        """Σ |e − ē|²."""
        return self.squares - self.n * float(self.mean @ self.mean)

    @functools.cached_property
    def mean_variance(self) -> float:
        """tr(g) / pairs, the unit of penalties."""
        squares = self.counts.power(2).sum() - self.n * np.sum(self.mean_counts**2)
        return float(squares) / max(1, len(self.cross))

    @property
    def is_dense(self) -> bool:
        return len(self.cross) <= DENSE

    def times(self, vectors: Float64[np.ndarray, "pair k"]) -> Float64[np.ndarray, "pair k"]:
        """g V: by g, by XᵀX without its zeros, or by X twice, whichever is least work."""
        if self.is_dense and len(self.cross) ** 2 <= SPARSE_COST * self._entries:
            return self.scatter @ vectors
        if self._rows_are_short:
            whole = np.asarray(self._gram @ vectors)
        else:
            whole = np.zeros_like(vectors)
            for x in self._chunks():
                whole += x.T @ (x @ vectors)
        whole -= self.mean_counts[:, None] * (self.n * (self.mean_counts @ vectors))
        return whole

    @functools.cached_property
    def _rows_are_short(self) -> bool:
        """True if XᵀX has hardly more entries than X, as for single tokens."""
        return bool(self.counts.nnz <= 4 * self.n)

    @property
    def _entries(self) -> int:
        """Numbers that a product without g reads."""
        return self._gram.nnz if self._rows_are_short else 2 * self.counts.nnz

    @functools.cached_property
    def _gram(self) -> csr_array:
        return csr_array(self.counts.T @ self.counts)

    def _chunks(self) -> Iterable[csr_array]:
        return (self.counts[start : start + CHUNK] for start in range(0, self.n, CHUNK))

    def coarsen(self, basis: csr_array) -> "PairMoments":
        """The moments of X M: of features that are sums of pairs."""
        cross = np.asarray(basis.T @ self.cross)
        return PairMoments(csr_array(self.counts @ basis), cross, self.total, self.squares)

    def errors(
        self, vectors: Float64[np.ndarray, "pair d_model"], bias: Float64[np.ndarray, " d_model"]
    ) -> float:
        """Σ |e − X V − b|²."""
        shared = float(np.sum(vectors * self.cross) + bias @ self.total)
        return self.squares - 2 * shared + self.spread(vectors, bias)

    def spread(
        self, vectors: Float64[np.ndarray, "pair d_model"], bias: Float64[np.ndarray, " d_model"]
    ) -> float:
        """Σ |X V + b|²."""
        return sum(float(np.sum((x @ vectors + bias) ** 2)) for x in self._chunks())


def add_moments(parts: Iterable[PairMoments]) -> PairMoments:
    """The moments of all units of disjoint parts."""
    parts = list(parts)
    return PairMoments(
        csr_array(vstack([each.counts for each in parts], format="csr")),
        np.sum([each.cross for each in parts], axis=0),
        np.sum([each.total for each in parts], axis=0),
        float(sum(each.squares for each in parts)),
    )


def moments_of(counts: csr_array, vectors: Float[np.ndarray, "unit d_model"]) -> PairMoments:
    """The moments of units whose vectors are in memory."""
    e = np.asarray(vectors, np.float64)
    return PairMoments(counts, np.asarray(counts.T @ e), e.sum(0), float(np.sum(e * e)))
