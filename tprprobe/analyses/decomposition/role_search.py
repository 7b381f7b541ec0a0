"""The search for the cheapest scheme of roles: fields are added, taken away, and their values merged."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.decomposition.role_cells import (
    BARE,
    Evidence,
    Terms,
    Trial,
    fields_of,
    name_terms,
    try_roles,
)
from tprprobe.statistics import bounds, replicate_totals

BEAM, MOST_FIELDS = 2, 3
SHORTEST = 8  # schemes whose other names are tried
REPLICATES = 1000
NEGLIGIBLE = 0.01  # of the shortest description: what a scheme may be longer
MEAN: Terms = ()
BAG: Terms = ((),)


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


def merge_values(evidence: Evidence, trial: Trial) -> Trial:
    """The scheme of one term with the likest roles merged while its description becomes shorter."""
    if len(trial.terms) != 1 or trial.terms[0][:1] in ((), (BARE,)) or trial.roles > 64:
        return trial
    roles = evidence.cells(trial.terms[0])
    best, merged = trial, []
    for i in np.unique(roles, return_index=True)[1].tolist():
        values = (evidence.values[f][int(evidence.fields[f][i])] for f in trial.terms[0])
        merged.append(["*".join(values)])
    while len(merged) > 1:
        candidates = _likest(evidence, roles)[:4]
        attempts = []
        for one, other in candidates:
            joined = np.where(roles == other, one, roles)
            joined -= joined > other
            attempts.append((try_roles(evidence, trial.terms, [joined]), joined, one, other))
        found = min(attempts, key=lambda each: each[0].bits, default=None)
        if found is None or found[0].bits >= best.bits:
            break
        best, roles, one, other = found
        merged[one] += merged.pop(other)
    told = tuple(tuple(each) for each in merged if len(each) > 1)
    return replace(best, merged=told)


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
