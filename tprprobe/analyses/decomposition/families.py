"""The five families of fits: what a pair's vector V[f, r] may be, and what each fit predicts.

saturated  free: an upper bound of every scheme with these fillers and roles
factored   W (f ⊗ r) with few dimensions: systematic binding, also of pairs never seen together
operator   A_r e(f) with e(f) given: binding that extends to fillers never seen
additive   a_f + c_r: no binding, a bag of fillers and a bag of roles
bag        v_f: no structure
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.factors import SWEEPS, Factors, find_start, fit_factors
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.pair_moments import PairMoments
from tprprobe.analyses.decomposition.ridge import solve_ridge

FAMILIES = ("saturated", "factored", "operator", "additive", "bag")
FACTORED, OPERATOR = "factored", "operator"

Ranks = tuple[int, int]
Embedding = Float64[np.ndarray, "filler d_embedding"]


@dataclass(frozen=True, eq=False)
class RoleFit:
    """A fit: ``vectors`` has V of every pair that occurs, ``bias`` the intercept b.

    V of other pairs follows from ``factors``, or from the ``coefficients`` of its basis.
    """

    family: str
    pairs: Pairs
    vectors: Float64[np.ndarray, "pair d_model"]
    bias: Float64[np.ndarray, " d_model"]
    parameters: int
    penalty: float
    coefficients: Float64[np.ndarray, "feature d_model"] | None = None
    embedding: Embedding | None = None
    factors: Factors | None = None

    @property
    def rank(self) -> str:
        """Dimensions of fillers × dimensions of roles, where these are limited."""
        return "" if self.factors is None else "×".join(map(str, self.factors.ranks))

    @property
    def dimensions(self) -> int:
        """The dimensions that its predictions can have."""
        features = self.parameters // len(self.bias)
        if self.factors is not None:
            features = int(np.prod(self.factors.ranks))
        return min(features, len(self.bias))

    def predict(self, counts: csr_array) -> Float64[np.ndarray, "unit d_model"]:
        """X V + b."""
        return counts @ self.vectors + self.bias

    def vectors_of(self, other: Pairs) -> Float64[np.ndarray, "pair d_model"]:
        """V of other pairs of the same fillers and roles; 0 where the family cannot tell."""
        if self.factors is not None:
            return self.factors.vectors(other.filler_of, other.role_of)
        basis = find_basis(self.family, other, self.embedding)
        if basis is not None:
            return np.asarray(basis @ self.coefficients)
        known, at = self.pairs.find(other.codes)
        return np.where(known[:, None], self.vectors[at], 0.0)

    def errors(self, moments: PairMoments) -> float:
        """Σ |e − ê|² of the units that the moments are of."""
        return moments.errors(self.vectors, self.bias)

    def bits(self, moments: PairMoments) -> float:
        """The description length of the fitted vectors, less that of their mean alone, in bits a
        vector: ½ D log₂(RSS / TSS) + ½ p/n log₂ n for p parameters. Negative is shorter; of vectors that
        are all alike nothing is left to describe.
        """
        total = moments.variation
        share = max(self.errors(moments), 1e-12 * total) / total if total > 0 else 1.0
        price = self.parameters * np.log2(max(2, moments.n)) / max(1, moments.n)
        return float(len(self.bias) * np.log2(share) + price) / 2


def fit_family(
    family: str,
    moments: PairMoments,
    pairs: Pairs,
    penalty: float,
    ranks: Ranks | None = None,
    embedding: Embedding | None = None,
    sweeps: int = SWEEPS,
) -> RoleFit:
    """The fit of a family to moments; ``ranks`` are of the factored, ``embedding`` of the operator."""
    if family == FACTORED:
        assert ranks is not None
        start = find_start(solve_ridge(moments, penalty), pairs, ranks)
        factors, solved = fit_factors(moments, pairs, ranks, penalty, start, sweeps), None
        vectors, features = factors.vectors(pairs.filler_of, pairs.role_of), factors.parameters
    else:
        factors, basis = None, find_basis(family, pairs, embedding)
        coarse = moments if basis is None else moments.coarsen(basis)
        solved = solve_ridge(coarse, penalty)
        vectors = solved if basis is None else np.asarray(basis @ solved)
        seen = np.asarray(abs(coarse.counts).sum(0)).reshape(-1) > 0
        features = int(seen.sum() - (family == "additive")) * moments.cross.shape[1]
    bias = moments.mean - moments.mean_counts @ vectors
    return RoleFit(family, pairs, vectors, bias, features, penalty, solved, embedding, factors)


def find_basis(family: str, pairs: Pairs, embedding: Embedding | None = None) -> csr_array | None:
    """The features [pair, feature] that V is linear in; None where each pair is one of its own."""
    if family == "saturated":
        return None
    of_filler = _indicator(pairs.filler_of, len(pairs.fillers))
    if family == "bag":
        return of_filler
    of_role = _indicator(pairs.role_of, len(pairs.roles))
    if family == "additive":
        return csr_array(hstack([of_filler, of_role], format="csr"))
    assert embedding is not None
    rows, width = embedding[pairs.filler_of], embedding.shape[1]
    columns = pairs.role_of[:, None] * width + np.arange(width)
    starts = np.arange(0, rows.size + 1, width)
    return csr_array(
        (rows.ravel(), columns.ravel(), starts), (len(pairs), len(pairs.roles) * width)
    )


def _indicator(of: np.ndarray, n: int) -> csr_array:
    return csr_array((np.ones(len(of)), of, np.arange(len(of) + 1)), (len(of), n))
