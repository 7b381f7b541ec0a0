"""The search for the cheapest scheme of roles: fields are added and taken away; what is found is the cheapest scheme near the
shortest, if it beats itself with shuffled roles.

A scheme is a partition of tokens; its price is the length of the description of the vectors by its pairs and by the fillers alone, as
the vectors of pairs that share a filler are alike. Without these, a second term, such as the bag of the fillers that are not the last,
would be found only because it describes what the pairs of a filler have in common.
"""

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int
from scipy.sparse import csr_array, hstack

from tprprobe.evaluation.intervals import REPLICATES
from tprprobe.statistics import bounds, permute_within, replicate_totals

MAX_PAIRS = 1200  # of a scheme that is tried, and no more than there are fitted vectors
PRECISION = 1e-3  # of the variance, to which vectors are described; noiseless ones would cost ever more bits
PENALTIES = np.logspace(-4, 3, 15)  # that are tried, of the mean variance of a count
BEAM, MAX_FIELDS = 2, 3
N_SYNONYMS = 8  # schemes whose other names are tried
NOTHING = "no structure"
NEGLIGIBLE = 0.01  # of the shortest description: what a scheme may be longer

BARE = ""  # before the fields of a term whose roles have no fillers
Term = tuple[str, ...]  # fields whose product is a partition of the tokens
Terms = tuple[Term, ...]  # their sum: a token has a role in each
MEAN: Terms = ()
BAG: Terms = ((),)

Roles = Int[np.ndarray, " token"]
Errors = Float64[np.ndarray, " group"]
Draws = Float64[np.ndarray, "replicate scheme"]


@dataclass(frozen=True, eq=False)
class SearchData:
    """Units, and tokens with their filler, fields and sequence as numbers; ``test`` flags units that are held out."""

    vectors: Float64[np.ndarray, "unit dimension"]
    groups: Int[np.ndarray, " unit"]
    test: Bool[np.ndarray, " unit"]
    members: csr_array
    fillers: Int[np.ndarray, " token"]
    fields: Mapping[str, Int[np.ndarray, " token"]]
    sequences: Int[np.ndarray, " token"]

    @functools.cached_property
    def fitting(self) -> Int[np.ndarray, " fitted"]:
        """The units that schemes are fitted to."""
        return np.flatnonzero(~self.test)

    @functools.cached_property
    def tested(self) -> Bool[np.ndarray, " group"]:
        """The groups that are held out."""
        return np.bincount(self.groups, self.test) > 0

    @functools.cached_property
    def mean_errors(self) -> Errors:
        """Σ |e − ē|² by group, ē the mean of the fitted units."""
        return self.sum_errors(self.vectors[self.fitting].mean(0))

    def sum_errors(self, predicted: Float64[np.ndarray, "..."]) -> Errors:
        """Σ |e − ê|² by group."""
        return np.bincount(self.groups, np.sum((self.vectors - predicted) ** 2, 1))

    def cells(self, term: Term) -> Roles:
        """The role of every token by a product of fields, as a number."""
        codes = np.zeros(len(self.fillers), int)
        for name in fields_of(term):
            joint = codes * (1 + self.fields[name].max(initial=0)) + self.fields[name]
            codes = np.unique(joint, return_inverse=True)[1].reshape(-1)
        return codes


@dataclass(frozen=True, eq=False)
class SchemeScore:
    """A scheme, its description length and its errors by group, fitted and held out.

    ``price`` is what its vectors cost, in bits a unit and dimension, ``shrunk`` what their own size
    adds to the errors.
    """

    terms: Terms
    n_roles: int
    n_pairs: int
    bits: float
    price: float
    shrunk: float
    errors: Errors

    @property
    def name(self) -> str:
        """The scheme as :func:`decompose` reads it, where its roles have fillers."""
        return name_terms(self.terms)


def fields_of(term: Term) -> Term:
    """The fields of a term."""
    return tuple(name for name in term if name != BARE)


def is_bare(term: Term) -> bool:
    """True for a term whose roles have no fillers."""
    return term[:1] == (BARE,)


def name_terms(terms: Terms) -> str:
    """``left*right+pos``, ``bag``, ``(length)`` for roles without fillers, ``mean`` without any term."""
    names = ["*".join(fields_of(term)) or "bag" for term in terms]
    texts = (f"({n})" if is_bare(term) else n for n, term in zip(names, terms, strict=True))
    return "+".join(texts) or "mean"


def score_roles(
    data: SearchData, terms: Terms, roles: Sequence[Roles], is_control: bool = False
) -> SchemeScore:
    """The score of a saturated fit of these roles; of too many pairs its length is infinite, a control has the commonest."""
    max_pairs = min(MAX_PAIRS, len(data.fitting))
    n_roles = sum(int(of_term.max(initial=-1)) + 1 for of_term in roles)
    if not roles:
        return SchemeScore(terms, 0, 0, 0.0, 0.0, 0.0, data.mean_errors)
    bare = map(is_bare, terms)
    counts = csr_array(hstack([_count(data, *term) for term in zip(roles, bare, strict=True)]))
    fit_counts = csr_array(counts[data.fitting])
    n_pairs = len(np.unique(fit_counts.indices))
    if is_control and n_pairs > max_pairs:
        n_pairs = max_pairs
        common = np.argsort(-np.asarray(fit_counts.sum(0)).reshape(-1), kind="stable")[:n_pairs]
        counts, fit_counts = counts[:, common], csr_array(fit_counts[:, common])
    if n_pairs > max_pairs:
        return SchemeScore(terms, n_roles, n_pairs, np.inf, np.inf, 0.0, data.mean_errors)
    if any(r.any() and not is_bare(term) for term, r in zip(terms, roles, strict=True)):
        bag = _count(data, np.zeros_like(data.fillers), False)
        counts = csr_array(hstack([counts, bag]))
        fit_counts = csr_array(counts[data.fitting])
    vectors, bias, price, shrunk = encode_shortest(fit_counts, data.vectors[data.fitting])
    errors = data.sum_errors(counts @ vectors + bias)
    rss, tss = (np.sum(by_group[~data.tested]) for by_group in (errors, data.mean_errors))
    bits = float(measure_bits(data, rss + shrunk, tss, price))
    return SchemeScore(terms, n_roles, n_pairs, bits, price, shrunk, errors)


def measure_bits(data: SearchData, rss: Any, tss: Any, price: float) -> Any:
    """The description length of vectors, in bits a unit, less that of the mean."""
    return data.vectors.shape[1] * (np.log2(rss / tss + PRECISION) / 2 + price)


def encode_shortest(
    counts: csr_array, vectors: Float64[np.ndarray, "unit dimension"]
) -> tuple[Float64[np.ndarray, "pair dimension"], Float64[np.ndarray, " dimension"], float, float]:
    """V and b of the ridge fit whose penalty λ makes the description shortest; its price and λ|V|².

    With a normal prior on V the code length is, a dimension, ½ n log₂(RSS + λ|V|² + δ TSS) +
    ½ Σ log₂(1 + gᵢ/λ), δ the PRECISION, gᵢ the eigenvalues of g: what a pair costs depends on how often it is seen.
    """
    n = max(1, len(vectors))
    mean, x = vectors.sum(0) / n, np.asarray(counts.sum(0)).reshape(-1) / n
    scatter = (counts.T @ counts).toarray() - n * np.outer(x, x)
    cross = np.asarray(counts.T @ vectors) - n * np.outer(x, mean)
    variation = float(np.sum(vectors * vectors)) - n * float(mean @ mean)
    varying = float(counts.power(2).sum() - n * np.sum(x**2)) / max(1, len(x))
    sizes, axes = np.linalg.eigh(scatter)
    sizes, along = np.maximum(sizes, 0)[:, None], axes.T @ cross
    lambdas = (varying or 1.0) * PENALTIES  # of counts that never vary: any
    rss = variation - np.sum(along**2, 1) @ (1 / (sizes + lambdas))
    prices = np.sum(np.log2(1 + sizes / lambdas), 0) / (2 * n)
    best = int(np.argmin(np.log2(np.maximum(rss, 0) + PRECISION * variation) / 2 + prices))
    shrunk = along / (sizes + lambdas[best])
    table = axes @ shrunk
    return table, mean - x @ table, float(prices[best]), float(lambdas[best] * np.sum(shrunk**2))


def _count(data: SearchData, roles: Roles, bare: bool) -> csr_array:
    """X [unit, pair] of one term, of any filler where it is bare; a role that all tokens of a unit share, such as its length, counts once."""
    joint = roles if bare else data.fillers * (1 + roles.max(initial=0)) + roles
    pair = np.unique(joint, return_inverse=True)[1].reshape(-1)
    cells = (np.arange(len(pair)), pair)
    of_token = csr_array((np.ones(len(pair)), cells), (len(pair), int(pair.max(initial=-1)) + 1))
    counts = csr_array(data.members @ of_token)
    if bare and np.diff(counts.indptr).max(initial=0) <= 1:
        counts.data[:] = 1
    return counts


def search(data: SearchData, fields: Sequence[str]) -> list[SchemeScore]:
    """Every scheme that was tried, the shortest description first; of those that part the tokens alike, the one of the first fields.

    From the bag of fillers on (or roles without fillers, where these are shorter), a field is multiplied
    to a term of the best schemes so far or added as a term of its own, with fillers or without, up to
    MAX_FIELDS; then fields are taken away as long as that helps.
    """
    scores: dict[str, SchemeScore] = {}
    order = {name: i for i, name in enumerate([BARE, *fields])}

    def by_bits(scheme: SchemeScore) -> tuple[float, int, list[int]]:
        """Shorter first; of schemes that are the same partition, the one of the first fields."""
        fields_used = [order[name] for term in scheme.terms for name in term]
        return round(scheme.bits, 6), scheme.n_pairs, [len(fields_used), *fields_used]

    def attempt(terms: Terms) -> SchemeScore:
        name = name_terms(terms)
        if name not in scores:
            scores[name] = score_roles(data, terms, list(map(data.cells, terms)))
        return scores[name]

    fields = [name for name in fields if np.ptp(data.fields[name])]  # others distinguish nothing
    attempt(MEAN)
    bare = [attempt(((BARE, field),)) for field in fields]
    shortest = min(bare, key=by_bits, default=attempt(BAG))
    frontier = [attempt(BAG), *([shortest] if shortest.bits < attempt(BAG).bits else [])]
    for _ in range(MAX_FIELDS):
        grown = {
            name_terms(t): t for scheme in frontier for t in _grow(scheme.terms, fields, order)
        }
        level = sorted(map(attempt, grown.values()), key=by_bits)[:BEAM]
        if not level or level[0].bits >= min(scheme.bits for scheme in frontier):
            break
        frontier = level
    best = min(scores.values(), key=by_bits)
    while fewer := [s for s in map(attempt, _shrink(best.terms)) if s.bits < best.bits]:
        best = min(fewer, key=by_bits)
    for scheme in sorted(scores.values(), key=by_bits)[:N_SYNONYMS]:
        for terms in _synonyms(scheme.terms, fields, data):
            attempt(terms)
    described = (scheme for scheme in scores.values() if scheme.bits < np.inf)
    different: dict[Hashable, SchemeScore] = {}
    for scheme in sorted(described, key=by_bits):
        different.setdefault(_divide(data, scheme), scheme)
    return list(different.values())


def _divide(data: SearchData, scheme: SchemeScore) -> Hashable:
    """How the terms of a scheme divide the tokens, whatever its name."""
    parts = ((is_bare(term), pd.factorize(data.cells(term))[0].tobytes()) for term in scheme.terms)
    return tuple(sorted(parts))


def _grow(terms: Terms, fields: Sequence[str], order: Mapping[str, int]) -> list[Terms]:
    """The schemes with one field more, in the order of the fields."""
    fields_used = set(chain.from_iterable(terms))
    grown: list[Terms] = []
    for field in (name for name in fields if name not in fields_used):
        for i, term in enumerate(terms):
            longer = tuple(sorted((*term, field), key=order.__getitem__))
            grown.append((*terms[:i], longer, *terms[i + 1 :]))
        grown.append((*terms, (BARE, field)))
        if () not in terms:
            grown.append((*terms, (field,)))
    return [tuple(sorted(t, key=lambda term: [order[name] for name in term])) for t in grown]


def _synonyms(terms: Terms, fields: Sequence[str], data: SearchData) -> list[Terms]:
    """The same partitions by as many other fields, a term at a time: left*length is left*right."""
    synonyms: list[Terms] = []
    for i, term in enumerate(terms):
        cells = data.cells(term)
        n = len(np.unique(cells))
        for combination in combinations(fields, len(fields_of(term))):
            synonym = (*term[: len(term) - len(combination)], *combination)
            alike = data.cells(synonym)
            if len(np.unique(alike)) == n == len(np.unique(cells * n + alike)):
                synonyms.append((*terms[:i], synonym, *terms[i + 1 :]))
    return synonyms


def _shrink(terms: Terms) -> list[Terms]:
    """The schemes with one field less, or without the bag."""
    fewer: list[Terms] = []
    for i, term in enumerate(terms):
        without_term = (*terms[:i], *terms[i + 1 :])
        for field in fields_of(term):
            shorter = tuple(name for name in term if name != field)
            if fields_of(shorter) or (shorter == () and all(map(is_bare, without_term))):
                fewer.append((*terms[:i], shorter, *terms[i + 1 :]))
        if without_term and len(fields_of(term)) <= 1:
            fewer.append(without_term)
    return fewer


def select(data: SearchData, fields: Sequence[str], seed: int) -> tuple[str, pd.DataFrame]:
    """The name of the scheme that is found, and a row per scheme that was tried, shortest first."""
    schemes = search(data, fields)
    draws = draw_bits(schemes, data, seed)
    i_chosen, is_near, longer = choose_cheapest(schemes, draws, int((~data.tested).sum()))
    sums = np.stack([data.mean_errors, *(scheme.errors for scheme in schemes)], 1)[data.tested]
    totals = np.concatenate([sums.sum(0)[None], replicate_totals(sums)])
    r2, *r2_drawn = 1 - totals[:, 1:] / totals[:, [0]]
    low, high = bounds(np.array(r2_drawn), len(sums))
    if not beats_shuffled(data, schemes[i_chosen], seed):
        unbound = (i for i, s in enumerate(schemes) if shuffle_roles(data, s, seed) is None)
        i_chosen = next(unbound)
    best_name = schemes[i_chosen].name if low[i_chosen] > 0 else NOTHING
    rows = [("", s.name, s.name == best_name, s.n_roles, s.n_pairs, s.bits) for s in schemes]
    table = pd.DataFrame(rows, columns=["control", "roles", "is_found", "n_roles", "pairs", "bits"])
    table = table.assign(longer=table["bits"] - schemes[0].bits, is_near=is_near)
    intervals = {"longer_low": longer[0], "longer_high": longer[1], "r2": r2, "r2_low": low}
    stability = np.bincount(draws.round(6).argmin(1), minlength=len(schemes)) / len(draws)
    sizes = {"n": len(data.fitting), "groups": len(sums)}
    return best_name, table.assign(**intervals, r2_high=high, stability=stability, **sizes)


def draw_bits(schemes: Sequence[SchemeScore], data: SearchData, seed: int) -> Draws:
    """The description length of every scheme if other groups had been drawn, its fit as it is."""
    sums = np.stack([data.mean_errors, *(scheme.errors for scheme in schemes)], 1)
    tss, *rss = replicate_totals(sums[~data.tested], REPLICATES, seed).T
    scored = zip(rss, schemes, strict=True)
    return np.stack([measure_bits(data, r + s.shrunk, tss, s.price) for r, s in scored], 1)


def shuffle_roles(data: SearchData, scheme: SchemeScore, seed: int) -> list[Roles] | None:
    """The roles of fillers, shuffled within sequences; None where that changes nothing."""
    order = permute_within(data.sequences, np.random.default_rng((seed, 4)))
    is_bound = [fields_of(term) != () and not is_bare(term) for term in scheme.terms]
    roles = list(map(data.cells, scheme.terms))
    shuffled = [r[order] if bound else r for r, bound in zip(roles, is_bound, strict=True)]
    is_same = all(np.array_equal(*pair) for pair in zip(roles, shuffled, strict=True))
    return None if is_same else shuffled


def beats_shuffled(data: SearchData, scheme: SchemeScore, seed: int) -> bool:
    """True if a scheme errs less on held-out documents than with its roles shuffled, paired, or nothing can be shuffled."""
    if (roles := shuffle_roles(data, scheme, seed)) is None:
        return True
    errors = score_roles(data, scheme.terms, roles, is_control=True).errors
    sums = np.stack([errors - scheme.errors, data.mean_errors], 1)[data.tested]
    difference, variation = replicate_totals(sums, REPLICATES, seed).T
    return bool(bounds(difference / variation, len(sums))[0] > 0)


def choose_cheapest(
    schemes: Sequence[SchemeScore], draws: Draws, n_groups: int
) -> tuple[int, Bool[np.ndarray, " scheme"], Float64[np.ndarray, "2 scheme"]]:
    """The scheme of fewest pairs near the shortest, which ones are near, and intervals of differences."""
    low, high = bounds(draws - draws[:, [0]], n_groups)
    longer = np.array([scheme.bits for scheme in schemes]) - schemes[0].bits
    is_near = (low <= 0) | (longer <= NEGLIGIBLE * abs(schemes[0].bits))
    prices = [(scheme.n_pairs, round(scheme.bits, 6)) for scheme in schemes]
    cheapest = min(np.flatnonzero(is_near).tolist(), key=lambda i: (*prices[i], i))
    return cheapest, is_near, np.stack([low, high])
