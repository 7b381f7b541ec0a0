"""The evidence that schemes of roles are compared on: vectors in few dimensions, fields as numbers."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.linalg import eigh
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.pair_counts import sizes

MOST_DIMENSIONS, VARIANCE = 64, 0.99  # of the vectors, that schemes are compared in
MOST_PAIRS = 1200  # of a scheme that is tried
PENALTIES = np.logspace(-4, 3, 15)  # that are tried, of the mean variance of a count

BARE = ""  # before the fields of a term whose roles have no fillers
Term = tuple[str, ...]  # fields whose product is a partition of the tokens
Terms = tuple[Term, ...]  # their sum: a token has a role in each


@dataclass(frozen=True, eq=False)
class Evidence:
    """Units, and tokens with their filler and fields as numbers; ``test`` flags units that are held out."""

    vectors: Float64[np.ndarray, "unit dimension"]
    groups: Int[np.ndarray, " unit"]
    test: Bool[np.ndarray, " unit"]
    members: csr_array
    fillers: Int[np.ndarray, " token"]
    fields: Mapping[str, Int[np.ndarray, " token"]]
    values: Mapping[str, Sequence[str]]

    @functools.cached_property
    def fitting(self) -> Int[np.ndarray, " fitted"]:
        """The units that schemes are fitted to."""
        return np.flatnonzero(~self.test)

    @functools.cached_property
    def tested(self) -> Bool[np.ndarray, " group"]:
        """The groups that are held out."""
        return np.bincount(self.groups, self.test) > 0

    @functools.cached_property
    def mean_errors(self) -> Float64[np.ndarray, " group"]:
        """Σ |e − ē|² by group, ē the mean of the fitted units."""
        mean = self.vectors[self.fitting].mean(0)
        return np.bincount(self.groups, np.sum((self.vectors - mean) ** 2, 1))

    def cells(self, term: Term) -> Int[np.ndarray, " token"]:
        """The role of every token by a product of fields, as a number."""
        codes = np.zeros(len(self.fillers), int)
        for name in fields_of(term):
            joint = codes * (1 + self.fields[name].max(initial=0)) + self.fields[name]
            codes = np.unique(joint, return_inverse=True)[1].reshape(-1)
        return codes


@dataclass(frozen=True, eq=False)
class Trial:
    """A scheme, its description length and its errors by group, fitted and held out.

    ``price`` is what its vectors cost, in bits a unit and dimension, ``shrunk`` what their own size
    adds to the errors.
    """

    terms: Terms
    roles: int
    pairs: int
    bits: float
    price: float
    shrunk: float
    errors: Float64[np.ndarray, " group"]
    merged: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """The scheme as :func:`decompose` reads it, where its roles have fillers."""
        return name_terms(self.terms)


def fields_of(term: Term) -> Term:
    """The fields of a term."""
    return tuple(name for name in term if name != BARE)


def name_terms(terms: Terms) -> str:
    """``left*right+pos``, ``bag``, ``(length)`` for roles without fillers, ``mean`` without any term."""
    names = ["*".join(fields_of(term)) or "bag" for term in terms]
    bare = [term[:1] == (BARE,) for term in terms]
    return "+".join(f"({n})" if b else n for n, b in zip(names, bare, strict=True)) or "mean"


def try_roles(
    evidence: Evidence, terms: Terms, roles: Sequence[Int[np.ndarray, " token"]]
) -> Trial:
    """The trial of a saturated fit of these roles; of too many pairs its length is infinite."""
    n_roles = sum(int(each.max(initial=-1)) + 1 for each in roles)
    if not roles:
        return Trial(terms, 0, 0, 0.0, 0.0, 0.0, evidence.mean_errors)
    bare = [term[:1] == (BARE,) for term in terms]
    counts = csr_array(hstack([_count(evidence, *of) for of in zip(roles, bare, strict=True)]))
    fitted = csr_array(counts[evidence.fitting])
    pairs = len(np.unique(fitted.indices))
    if pairs > MOST_PAIRS:
        return Trial(terms, n_roles, pairs, np.inf, np.inf, 0.0, evidence.mean_errors)
    moments = moments_of(fitted, evidence.vectors[evidence.fitting])
    vectors, price, shrunk = encode_shortest(moments)
    bias = moments.mean - moments.mean_counts @ vectors
    errors = np.sum((evidence.vectors - counts @ vectors - bias) ** 2, 1)
    by_group = np.bincount(evidence.groups, errors)
    rss, tss = (np.sum(each[~evidence.tested]) for each in (by_group, evidence.mean_errors))
    bits = evidence.vectors.shape[1] * (np.log2((rss + shrunk) / tss) / 2 + price)
    return Trial(terms, n_roles, pairs, float(bits), price, shrunk, by_group)


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Moments of counts X [unit, pair] and vectors E: ē, x̄, XᵀX and XᵀE, both centered, Σ |e − ē|², and the mean
    variance of a count, times n: the unit of penalties.
    """

    n: int
    mean: Float64[np.ndarray, " d_model"]
    mean_counts: Float64[np.ndarray, " pair"]
    scatter: Float64[np.ndarray, "pair pair"]
    cross: Float64[np.ndarray, "pair d_model"]
    variation: float
    mean_variance: float


def moments_of(counts: csr_array, vectors: Float64[np.ndarray, "unit d_model"]) -> PairMoments:
    """The moments of units whose vectors are in memory, of few pairs."""
    n, pairs = sizes(counts)
    mean, x = vectors.sum(0) / max(1, n), np.asarray(counts.sum(0)).reshape(-1) / max(1, n)
    scatter = (counts.T @ counts).toarray() - n * np.outer(x, x)
    cross = np.asarray(counts.T @ vectors) - n * np.outer(x, mean)
    variation = float(np.sum(vectors * vectors)) - n * float(mean @ mean)
    varying = float(counts.power(2).sum() - n * np.sum(x**2))
    return PairMoments(n, mean, x, scatter, cross, variation, varying / max(1, pairs))


def encode_shortest(
    moments: PairMoments,
) -> tuple[Float64[np.ndarray, "pair dimension"], float, float]:
    """The ridge fit whose penalty λ makes the description shortest; its price and λ|V|².

    With a normal prior on V the code length is, a dimension, ½ n log₂(RSS + λ|V|²) +
    ½ Σ log₂(1 + gᵢ/λ), gᵢ the eigenvalues of g: what a pair costs depends on how often it is seen.
    """
    sizes, axes = np.linalg.eigh(moments.scatter)
    sizes, along = np.maximum(sizes, 0)[:, None], axes.T @ moments.cross
    lambdas = (moments.mean_variance or 1.0) * PENALTIES  # of counts that never vary: any
    left = moments.variation - np.sum(along**2, 1) @ (1 / (sizes + lambdas))
    prices = np.sum(np.log2(1 + sizes / lambdas), 0) / (2 * moments.n)
    left = np.maximum(left, 1e-12 * moments.variation)
    best = int(np.argmin(np.log2(left) / 2 + prices))
    shrunk = along / (sizes + lambdas[best])
    return axes @ shrunk, float(prices[best]), float(lambdas[best] * np.sum(shrunk**2))


def _count(evidence: Evidence, roles: Int[np.ndarray, " token"], is_bare: bool) -> csr_array:
    """X [unit, pair] of one term, of any filler where it is bare; a role that all tokens of a unit share, such as its length, counts once."""
    joint = roles if is_bare else evidence.fillers * (1 + roles.max(initial=0)) + roles
    pair = np.unique(joint, return_inverse=True)[1].reshape(-1)
    places = (np.arange(len(pair)), pair)
    of_token = csr_array((np.ones(len(pair)), places), (len(pair), int(pair.max(initial=-1)) + 1))
    counts = csr_array(evidence.members @ of_token)
    if is_bare and np.diff(counts.indptr).max(initial=0) <= 1:
        counts.data[:] = 1
    return counts


def reduce_width(
    vectors: Float64[np.ndarray, "unit d_model"],
) -> Float64[np.ndarray, "unit dimension"]:
    """Vectors along their first principal axes, as many as hold VARIANCE, MOST_DIMENSIONS at most."""
    centered = vectors - vectors.mean(0)
    values, axes = eigh(centered.T @ centered)
    values, axes = values[::-1], axes[:, ::-1]
    share = np.cumsum(values) / max(values.sum(), 1e-300)
    kept = min(MOST_DIMENSIONS, int(np.searchsorted(share, VARIANCE)) + 1)
    return centered @ axes[:, :kept]
