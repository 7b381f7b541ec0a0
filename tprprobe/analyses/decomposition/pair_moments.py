"""Moments of pair counts and vectors: all that a search of roles is a function of."""

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Counts X [unit, pair] of units, and of their vectors E: XᵀE, Σ e and Σ |e|²."""

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


def moments_of(counts: csr_array, vectors: Float[np.ndarray, "unit d_model"]) -> PairMoments:
    """The moments of units whose vectors are in memory."""
    e = np.asarray(vectors, np.float64)
    return PairMoments(counts, np.asarray(counts.T @ e), e.sum(0), float(np.sum(e * e)))
