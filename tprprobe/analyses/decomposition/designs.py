"""Designs: how often units have a scheme's pairs, as they are or shuffled, and which units are fitted to.

Some pairs are withheld from fitting units: whether a decomposition predicts them says if its binding is systematic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.block_products import Grams
from tprprobe.analyses.decomposition.pair_counts import (
    Occurrences,
    Pairs,
    count_pairs,
    find_pairs,
    sizes,
)
from tprprobe.analyses.decomposition.ridge import Regression
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.sequence_units import Units, VectorBlocks
from tprprobe.analyses.decomposition.unit_kinds import (
    Entries,
    UnitKind,
    entries_of_units,
)
from tprprobe.statistics import permute_within
from tprprobe.store.dask_workers import each_part

SEEN = 5  # fitting units that have a pair that may be withheld
MOST_UNITS = 0.5  # of the units may be lost


def withhold(
    counts: csr_array,
    pairs: Pairs,
    share: float,
    rng: np.random.Generator,
    most_units: float = MOST_UNITS,
) -> Bool[np.ndarray, " pair"]:
    """A random share of the pairs, as flags; fillers and roles keep half of theirs, and few units lose one."""
    units, axes = counts.tocsc(), (pairs.filler_of, pairs.role_of)
    seen = np.diff(units.indptr)
    kept = [np.bincount(of[seen > 0], minlength=1 + of.max(initial=0)) for of in axes]
    least = [np.ceil(each / 2) for each in kept]
    lost = np.zeros(len(counts.indptr) - 1, bool)
    wanted, most = round(share * np.sum(seen > 0)), most_units * len(lost)
    withheld = np.zeros(len(pairs), bool)
    for pair in rng.permutation(np.flatnonzero(seen >= SEEN)):
        if withheld.sum() >= wanted:
            break
        rows = units.indices[units.indptr[pair] : units.indptr[pair + 1]]
        at = [of[pair] for of in axes]
        enough = all(k[i] - 1 >= m[i] for k, m, i in zip(kept, least, at, strict=True))
        if enough and lost.sum() + np.sum(~lost[rows]) <= most:
            withheld[pair] = lost[rows] = True
            for each, i in zip(kept, at, strict=True):
                each[i] -= 1
    return withheld


def have(counts: csr_array, pairs: Bool[np.ndarray, " pair"]) -> Bool[np.ndarray, " unit"]:
    """The units that have any of the pairs."""
    return np.asarray(counts @ pairs.astype(float)).reshape(-1) > 0


TEST_SHARE, JUDGED_SHARE = 0.25, 0.2
INNER_UNITS = 0.25  # of the units, lost to pairs that are withheld to choose a rank
CLEAN, INNER, OUTER, TEST = range(4)
Labels = Int[np.ndarray, " unit"]


def divide_groups(
    groups: Labels, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, " unit"], Bool[np.ndarray, " unit"]]:
    """The units to test on, and those to judge by; a group is never divided."""
    chance = rng.permutation(groups.max() + 1) / (groups.max() + 1)
    place = chance[groups]
    test = place < TEST_SHARE
    return test, ~test & (place < TEST_SHARE + JUDGED_SHARE * (1 - TEST_SHARE))


def divide(
    counts: csr_array,
    parts: Sequence[Pairs],
    test: Bool[np.ndarray, " unit"],
    share: float,
    rng: np.random.Generator,
    inner_share: float | None = None,
) -> tuple[Labels, Bool[np.ndarray, " unit"]]:
    """The kinds of all units (OUTER and INNER have a withheld pair of the first part, CLEAN none), and which
    of all have one of OUTER's.
    """
    x, of = csr_array(counts[:, : len(parts[0])]), parts[0]
    unseen = have(x, withhold(csr_array(x[np.flatnonzero(~test)]), of, share, rng))
    rest = np.flatnonzero(~test & ~unseen)
    part = inner_share or share or 0.1
    inner = have(x, withhold(csr_array(x[rest]), of, part, rng, INNER_UNITS))
    kind = np.where(unseen, OUTER, np.where(inner, INNER, CLEAN))
    return np.where(test, TEST, kind), unseen


AS_IS, SHUFFLED_ROLES, SHUFFLED_FILLERS = "", "shuffled roles", "shuffled fillers"


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs of a scheme, part by part, their counts side by side, and how units are divided."""

    control: str
    parts: Sequence[Pairs]
    counts: csr_array
    kinds: Labels
    judged: Bool[np.ndarray, " unit"]
    unseen: Bool[np.ndarray, " unit"]
    groups: Int[np.ndarray, " unit"]

    @property
    def test(self) -> Bool[np.ndarray, " unit"]:
        return self.kinds == TEST

    @property
    def fitted(self) -> list[Bool[np.ndarray, " unit"]]:
        """All fitting units; of no control also those without withheld pairs, and all units."""
        of = self.kinds
        units = [of != TEST, (of == CLEAN) | (of == INNER), np.ones(len(of), bool)]
        return units if self.control == AS_IS else units[:1]


def rows_of(counts: csr_array, which: Bool[np.ndarray, " unit"]) -> csr_array:
    """The counts of some units."""
    return csr_array(counts[np.flatnonzero(which)])


def design(units: Units, scheme: RoleScheme, share: float, seed: int) -> Iterator[Design]:
    """The design of a scheme, then with roles shuffled within sequences, and with fillers across all."""
    entries = enter(scheme, units.kind, units.tokens, units.members)
    terms = scheme.label(units.tokens, entries)
    pairs, found = find_pairs(units.fillers[entries.token], terms)
    test, judged = divide_groups(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    parts, counts = _count(entries, pairs, found)
    kinds, unseen = divide(counts, parts, test, share, rng)
    real = Design(AS_IS, parts, counts, kinds, judged, unseen, units.groups)
    yield real
    within, across = permute_within(entries.group, rng), rng.permutation(len(units.tokens))
    filler = pairs.fillers.get_indexer(pd.Index(units.fillers[across][entries.token]))
    for control, shuffled in (
        (SHUFFLED_ROLES, [(filler, role[within]) for filler, role in found]),
        (SHUFFLED_FILLERS, [(np.where(known < 0, known, filler), role) for known, role in found]),
    ):
        parts, counts = _count(entries, occurring(pairs, shuffled), shuffled)
        yield replace(real, control=control, parts=parts, counts=counts)


def enter(
    scheme: RoleScheme, kind: UnitKind, tokens: pd.DataFrame, members: list[csr_array]
) -> Entries:
    """The tokens of units, or, where roles are relative to the unit, pairs of unit and token."""
    kind.check(scheme.name, scheme.relative)
    if not any(scheme.relative):
        token, sample = np.arange(len(tokens)), tokens["sample"].to_numpy()
        return Entries(members, token, np.zeros_like(token), sample)
    at = kind.places(tokens)
    assert at is not None
    return entries_of_units(members, at)


def _count(
    entries: Entries, pairs: Pairs, found: Sequence[Occurrences]
) -> tuple[list[Pairs], csr_array]:
    """The pairs that every part has, and their counts, part beside part."""
    parts, counts = [], []
    for of in entries.members:
        whole = count_pairs(of, pairs, found)
        held = np.unique(whole.indices)
        parts.append(pairs.take(held))
        counts.append(whole[:, held])
    return parts, csr_array(hstack(counts, format="csr"))


def occurring(pairs: Pairs, found: Sequence[Occurrences]) -> Pairs:
    """The pairs that occur among these, with the same fillers and roles."""
    n = len(pairs.roles)
    known = [(f[(f >= 0) & (r >= 0)], r[(f >= 0) & (r >= 0)]) for f, r in found]
    codes = np.unique(np.concatenate([f * n + r for f, r in known]))
    return replace(pairs, filler_of=codes // n, role_of=codes % n)


def gather(vectors: VectorBlocks, designs: Sequence[Design]) -> list[list[Regression]]:
    """The regressions of designs on the units they are fitted to, from one pass over the vectors."""
    masked = [(of.counts, rows) for of in designs for rows in of.fitted]
    cross = [np.zeros((sizes(x)[1], vectors.width)) for x, _ in masked]
    total = np.zeros((len(masked), vectors.width))
    for found in each_part(partial(_sum_up, vectors, masked), vectors.parts()):
        for j, (pairs, values, of_units) in enumerate(found):
            cross[j][pairs] += values
            total[j] += of_units
    made = (
        Regression(Grams(rows_of(counts, rows)), of_pairs, of_units / max(1, int(rows.sum())))
        for (counts, rows), of_pairs, of_units in zip(masked, cross, total, strict=True)
    )
    return [[next(made) for _ in of.fitted] for of in designs]


def _sum_up(
    vectors: VectorBlocks,
    masked: Sequence[tuple[csr_array, Bool[np.ndarray, " unit"]]],
    rows: slice,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs that some units have, with their XᵀE and Σ e, design by design."""
    held = []
    for counts, which in masked:
        x = csr_array(counts[rows])
        pairs = np.unique(x.indices)
        found = np.zeros((len(pairs), vectors.width)), np.zeros(vectors.width)
        held.append((pairs, csr_array(x[:, pairs]), which[rows], *found))
    for units, block in vectors.blocks(rows):
        at = slice(units.start - rows.start, units.stop - rows.start)
        for _, x, which, cross, total in held:
            of = np.flatnonzero(which[at])
            total += block[of].sum(0)
            cross += csr_array(x[at])[of].T @ block[of]
    return [(pairs, cross, total) for pairs, _, _, cross, total in held]
