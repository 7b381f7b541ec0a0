"""The search for the cheapest scheme of roles: fields are added, taken away, and their values merged.

A scheme is a partition of tokens; its price is the length of the description of the vectors by its pairs.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int
from scipy.sparse import csr_array, hstack

from tprprobe.statistics import bounds, permute_within, replicate_totals

MOST_PAIRS = 1200  # of a scheme that is tried
PENALTIES = np.logspace(-4, 3, 15)  # that are tried, of the mean variance of a count
BEAM, MOST_FIELDS = 2, 3
SHORTEST = 8  # schemes whose other names are tried
REPLICATES = 1000
NEGLIGIBLE = 0.01  # of the shortest description: what a scheme may be longer

BARE = ""  # before the fields of a term whose roles have no fillers
Term = tuple[str, ...]  # fields whose product is a partition of the tokens
Terms = tuple[Term, ...]  # their sum: a token has a role in each
MEAN: Terms = ()
BAG: Terms = ((),)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Units, and tokens with their filler, fields and sequence as numbers; ``test`` flags units that are held out."""

    vectors: Float64[np.ndarray, "unit dimension"]
    groups: Int[np.ndarray, " unit"]
    test: Bool[np.ndarray, " unit"]
    members: csr_array
    fillers: Int[np.ndarray, " token"]
    fields: Mapping[str, Int[np.ndarray, " token"]]
    values: Mapping[str, Sequence[str]]
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
    evidence: Evidence,
    terms: Terms,
    roles: Sequence[Int[np.ndarray, " token"]],
    is_control: bool = False,
) -> Trial:
    """The trial of a saturated fit of these roles; of too many pairs its length is infinite, a control has the commonest."""
    n_roles = sum(int(each.max(initial=-1)) + 1 for each in roles)
    if not roles:
        return Trial(terms, 0, 0, 0.0, 0.0, 0.0, evidence.mean_errors)
    bare = [term[:1] == (BARE,) for term in terms]
    counts = csr_array(hstack([_count(evidence, *of) for of in zip(roles, bare, strict=True)]))
    fitted = csr_array(counts[evidence.fitting])
    pairs = len(np.unique(fitted.indices))
    if is_control and pairs > MOST_PAIRS:
        often = np.argsort(-np.asarray(fitted.sum(0)).reshape(-1), kind="stable")[:MOST_PAIRS]
        counts, fitted, pairs = counts[:, often], csr_array(fitted[:, often]), MOST_PAIRS
    if pairs > MOST_PAIRS:
        return Trial(terms, n_roles, pairs, np.inf, np.inf, 0.0, evidence.mean_errors)
    vectors, bias, price, shrunk = encode_shortest(fitted, evidence.vectors[evidence.fitting])
    errors = np.sum((evidence.vectors - counts @ vectors - bias) ** 2, 1)
    by_group = np.bincount(evidence.groups, errors)
    rss, tss = (np.sum(each[~evidence.tested]) for each in (by_group, evidence.mean_errors))
    bits = evidence.vectors.shape[1] * (np.log2((rss + shrunk) / tss) / 2 + price)
    return Trial(terms, n_roles, pairs, float(bits), price, shrunk, by_group)


def encode_shortest(
    counts: csr_array, vectors: Float64[np.ndarray, "unit dimension"]
) -> tuple[Float64[np.ndarray, "pair dimension"], Float64[np.ndarray, " dimension"], float, float]:
    """V and b of the ridge fit whose penalty λ makes the description shortest; its price and λ|V|².

    With a normal prior on V the code length is, a dimension, ½ n log₂(RSS + λ|V|²) +
    ½ Σ log₂(1 + gᵢ/λ), gᵢ the eigenvalues of g: what a pair costs depends on how often it is seen.
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
    left = variation - np.sum(along**2, 1) @ (1 / (sizes + lambdas))
    prices = np.sum(np.log2(1 + sizes / lambdas), 0) / (2 * n)
    best = int(np.argmin(np.log2(np.maximum(left, 1e-12 * variation)) / 2 + prices))
    shrunk = along / (sizes + lambdas[best])
    found = axes @ shrunk
    return found, mean - x @ found, float(prices[best]), float(lambdas[best] * np.sum(shrunk**2))


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


def search(evidence: Evidence, fields: Sequence[str]) -> list[Trial]:
    """Every scheme that was tried, the shortest description first.

    From the bag of fillers on (or roles without fillers, where these are shorter), a field is multiplied
    to a term of the best schemes so far or added as a term of its own, with fillers or without, up to
    MOST_FIELDS; then fields are taken away as long as that helps.
    """
    tried: dict[str, Trial] = {}
    order = _order(fields)

    def by_bits(trial: Trial) -> tuple[float, int, list[int]]:
        """Shorter first; of schemes that are the same partition, the one of the first fields."""
        used = [order[name] for term in trial.terms for name in term]
        return round(trial.bits, 6), trial.pairs, [len(used), *used]

    def attempt(terms: Terms) -> Trial:
        name = name_terms(terms)
        if name not in tried:
            tried[name] = try_roles(evidence, terms, [evidence.cells(term) for term in terms])
        return tried[name]

    fields = [
        name for name in fields if np.ptp(evidence.fields[name])
    ]  # others distinguish nothing
    attempt(MEAN)
    bare = min((attempt(((BARE, each),)) for each in fields), key=by_bits, default=attempt(BAG))
    frontier = [attempt(BAG), *([bare] if bare.bits < attempt(BAG).bits else [])]
    for _ in range(MOST_FIELDS):
        grown = {
            name_terms(terms): terms for each in frontier for terms in _grow(each.terms, fields)
        }
        level = sorted((attempt(terms) for terms in grown.values()), key=by_bits)[:BEAM]
        if not level or level[0].bits >= min(each.bits for each in frontier):
            break
        frontier = level
    best = min(tried.values(), key=by_bits)
    while fewer := [each for each in map(attempt, _shrink(best.terms)) if each.bits < best.bits]:
        best = min(fewer, key=by_bits)
    for each in sorted(tried.values(), key=by_bits)[:SHORTEST]:
        for terms in _synonyms(each.terms, fields, evidence):
            attempt(terms)
    return sorted((each for each in tried.values() if each.bits < np.inf), key=by_bits)


def _grow(terms: Terms, fields: Sequence[str]) -> list[Terms]:
    """The schemes with one field more, in the order of the fields."""
    order = _order(fields)
    used = set(chain.from_iterable(terms))
    grown: list[Terms] = []
    for field in fields:
        if field in used:
            continue
        for i, term in enumerate(terms):
            longer = tuple(sorted((*term, field), key=order.__getitem__))
            grown.append((*terms[:i], longer, *terms[i + 1 :]))
        grown.append((*terms, (BARE, field)))
        if () not in terms:
            grown.append((*terms, (field,)))
    return [tuple(sorted(each, key=lambda term: [order[name] for name in term])) for each in grown]


def _order(fields: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate([BARE, *fields])}


def _synonyms(terms: Terms, fields: Sequence[str], evidence: Evidence) -> list[Terms]:
    """The same partitions by as many other fields, a term at a time: left*length is left*right."""
    found: list[Terms] = []
    for i, term in enumerate(terms):
        cells = evidence.cells(term)
        n = len(np.unique(cells))
        for chosen in combinations(fields, len(fields_of(term))):
            other = (*term[: len(term) - len(chosen)], *chosen)
            alike = evidence.cells(other)
            if len(np.unique(alike)) == n == len(np.unique(cells * n + alike)):
                found.append((*terms[:i], other, *terms[i + 1 :]))
    return found


def _shrink(terms: Terms) -> list[Terms]:
    """The schemes with one field less, or without the bag."""
    fewer: list[Terms] = []
    for i, term in enumerate(terms):
        others = (*terms[:i], *terms[i + 1 :])
        for field in fields_of(term):
            shorter = tuple(name for name in term if name != field)
            if fields_of(shorter):
                fewer.append((*terms[:i], shorter, *terms[i + 1 :]))
            elif shorter == () and all(each[:1] == (BARE,) for each in others):
                fewer += [(*terms[:i], (), *terms[i + 1 :])]
        if others and len(fields_of(term)) <= 1:
            fewer.append(others)
    return fewer


def stability_of(
    trials: Sequence[Trial], draws: Float64[np.ndarray, "replicate trial"], evidence: Evidence
) -> Float64[np.ndarray, " trial"]:
    """The share of the draws in which the partition of a trial is the shortest, whatever its name."""

    def key(term: tuple[str, ...]) -> tuple[bool, bytes]:
        return term[:1] == (BARE,), pd.factorize(evidence.cells(term))[0].tobytes()

    keys = [tuple(sorted(map(key, each.terms))) for each in trials]
    partition = pd.factorize(pd.Series(keys, dtype=object))[0]
    share = np.bincount(partition[draws.round(6).argmin(1)], minlength=len(trials)) / len(draws)
    return share[partition]


def bits_by_draw(
    trials: Sequence[Trial], evidence: Evidence, seed: int
) -> Float64[np.ndarray, "replicate trial"]:
    """The description length of every trial if other groups had been drawn, its fit as it is."""
    width = evidence.vectors.shape[1]
    sums = np.stack([evidence.mean_errors, *(each.errors for each in trials)], 1)
    tss, *rss = replicate_totals(sums[~evidence.tested], REPLICATES, seed).T
    found = [
        width * (np.log2((errors + each.shrunk) / tss) / 2 + each.price)
        for errors, each in zip(rss, trials, strict=True)
    ]
    return np.stack(found, 1)


def shuffle_roles(
    evidence: Evidence, trial: Trial, seed: int
) -> list[Int[np.ndarray, " token"]] | None:
    """The roles of fillers, shuffled within sequences; None where that changes nothing."""
    order = permute_within(evidence.sequences, np.random.default_rng((seed, 4)))
    is_bound = [fields_of(term) != () and term[:1] != (BARE,) for term in trial.terms]
    roles = [evidence.cells(term) for term in trial.terms]
    shuffled = [of[order] if bound else of for of, bound in zip(roles, is_bound, strict=True)]
    same = all(np.array_equal(*pair) for pair in zip(roles, shuffled, strict=True))
    return None if same else shuffled


def beats_shuffled(evidence: Evidence, trial: Trial, seed: int) -> bool:
    """True if a trial errs less on held-out documents than with its roles shuffled, paired, or nothing can be shuffled."""
    if (roles := shuffle_roles(evidence, trial, seed)) is None:
        return True
    errors = try_roles(evidence, trial.terms, roles, is_control=True).errors
    sums = np.stack([errors - trial.errors, evidence.mean_errors], 1)[evidence.tested]
    less, of_mean = replicate_totals(sums, REPLICATES, seed).T
    return bool(bounds(less / of_mean, len(sums))[0] > 0)


def choose_cheapest(
    trials: Sequence[Trial], draws: Float64[np.ndarray, "replicate trial"], groups: int
) -> tuple[int, Bool[np.ndarray, " trial"], Float64[np.ndarray, "2 trial"]]:
    """The trial of fewest pairs near the shortest, which ones are near, and intervals of differences."""
    low, high = bounds(draws - draws[:, [0]], groups)
    longer = np.array([each.bits for each in trials]) - trials[0].bits
    near = (low <= 0) | (longer <= NEGLIGIBLE * abs(trials[0].bits))
    cheapest = min(
        np.flatnonzero(near).tolist(), key=lambda i: (trials[i].pairs, round(trials[i].bits, 6), i)
    )
    return cheapest, near, np.stack([low, high])


def merge_values(evidence: Evidence, trial: Trial) -> str:
    """The likest roles of a scheme of one term, merged while its description becomes shorter: ``0 = 1; 2 = 3``."""
    if len(trial.terms) != 1 or trial.terms[0][:1] in ((), (BARE,)) or trial.roles > 64:
        return ""
    roles, best, merged = evidence.cells(trial.terms[0]), trial.bits, list[list[str]]()
    for i in np.unique(roles, return_index=True)[1].tolist():
        values = (evidence.values[f][int(evidence.fields[f][i])] for f in trial.terms[0])
        merged.append(["*".join(values)])
    while len(merged) > 1:
        attempts = []
        for one, other in _likest(evidence, roles)[:4]:
            joined = np.where(roles == other, one, roles)
            joined -= joined > other
            bits = try_roles(evidence, trial.terms, [joined]).bits
            attempts.append((bits, joined, one, other))
        bits, joined, one, other = min(attempts, key=lambda each: each[0])
        if bits >= best:
            break
        best, roles = bits, joined
        merged[one] += merged.pop(other)
    return "; ".join(" = ".join(each) for each in merged if len(each) > 1)


def _likest(evidence: Evidence, roles: Int[np.ndarray, " token"]) -> list[tuple[int, int]]:
    """Pairs of roles, those first whose tokens' units lie nearest, filler by filler."""
    n_roles, n_fillers = int(roles.max()) + 1, int(evidence.fillers.max()) + 1
    cell = roles * n_fillers + evidence.fillers
    of_token = np.asarray(evidence.members.T @ evidence.vectors)
    count = np.bincount(cell, minlength=n_roles * n_fillers).astype(float)
    sums = np.stack([np.bincount(cell, column, len(count)) for column in of_token.T], 1)
    means = (sums / np.maximum(count, 1)[:, None]).reshape(n_roles, n_fillers, -1)
    count, found = count.reshape(n_roles, n_fillers), []
    for one, other in combinations(range(n_roles), 2):
        weight = count[one] * count[other] / np.maximum(count[one] + count[other], 1)
        apart = float(weight @ np.sum((means[one] - means[other]) ** 2, 1))
        found.append((apart / max(1, np.sum(weight > 0)), one, other))
    return [(one, other) for _, one, other in sorted(found)]
