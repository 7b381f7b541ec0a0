"""Which of the schemes that were tried is found: the cheapest near the shortest, if it beats itself with shuffled roles."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from tprprobe.analyses.decomposition.role_search import (
    Roles,
    SchemeScore,
    SearchData,
    Term,
    fields_of,
    is_bare,
    measure_bits,
    score_roles,
    search,
)
from tprprobe.evaluation.intervals import REPLICATES
from tprprobe.statistics import bounds, permute_within, replicate_totals

NOTHING = "no structure"
NEGLIGIBLE = 0.01  # of the shortest description: what a scheme may be longer

Draws = Float64[np.ndarray, "replicate scheme"]


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
    names = ["control", "roles", "is_found", "n_roles", "pairs", "bits"]
    table = pd.DataFrame(rows, columns=names)
    table = table.assign(longer=table["bits"] - schemes[0].bits, is_near=is_near)
    table = table.assign(
        longer_low=longer[0], longer_high=longer[1], r2=r2, r2_low=low, r2_high=high
    )
    stability = measure_stability(schemes, draws, data)
    table = table.assign(stability=stability, n=len(data.fitting), groups=len(sums))
    return best_name, table


def measure_stability(
    schemes: Sequence[SchemeScore], draws: Draws, data: SearchData
) -> Float64[np.ndarray, " scheme"]:
    """The share of the draws in which the partition of a scheme is the shortest, whatever its name."""

    def key(term: Term) -> tuple[bool, bytes]:
        return is_bare(term), pd.factorize(data.cells(term))[0].tobytes()

    keys = [tuple(sorted(map(key, scheme.terms))) for scheme in schemes]
    partition = pd.factorize(pd.Series(keys, dtype=object))[0]
    share = np.bincount(partition[draws.round(6).argmin(1)], minlength=len(schemes)) / len(draws)
    return share[partition]


def draw_bits(schemes: Sequence[SchemeScore], data: SearchData, seed: int) -> Draws:
    """The description length of every scheme if other groups had been drawn, its fit as it is."""
    sums = np.stack([data.mean_errors, *(scheme.errors for scheme in schemes)], 1)
    tss, *rss = replicate_totals(sums[~data.tested], REPLICATES, seed).T
    bits = [
        measure_bits(data, r + s.shrunk, tss, s.price) for r, s in zip(rss, schemes, strict=True)
    ]
    return np.stack(bits, 1)


def shuffle_roles(data: SearchData, scheme: SchemeScore, seed: int) -> list[Roles] | None:
    """The roles of fillers, shuffled within sequences; None where that changes nothing."""
    order = permute_within(data.sequences, np.random.default_rng((seed, 4)))
    is_bound = [fields_of(term) != () and not is_bare(term) for term in scheme.terms]
    roles = data.roles(scheme.terms)
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
