"""Designs: how often every unit has every pair of a filler and a role, as they are or shuffled, and which units are fitted to.

Some pairs are withheld from fitting units: whether a decomposition predicts them says if its binding is systematic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.role_schemes import Entries, RoleScheme
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.evaluation.splits import Provenance, divide_documents, leave_out
from tprprobe.statistics import permute_within

SEEN = 5  # fitting units that have a pair that may be withheld
MOST_UNITS = 0.5  # of the units may be lost
INNER_UNITS = 0.1  # of the units, lost to pairs that are withheld to choose a rank
AS_IS, SHUFFLED_ROLES, SHUFFLED_FILLERS = "", "shuffled roles", "shuffled fillers"

Numbers = Int[np.ndarray, " token"]
Occurrences = tuple[Numbers, Numbers]  # filler and role, −1: none
Flags = Bool[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that occur, by their numbers of filler and role; rising in filler, then in role."""

    fillers: pd.Index
    roles: pd.Index
    filler_of: Int[np.ndarray, " pair"]
    role_of: Int[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.filler_of)

    @property
    def codes(self) -> Int[np.ndarray, " pair"]:
        """The place of every pair in the table of all fillers by all roles."""
        return self.filler_of * len(self.roles) + self.role_of

    def take(self, numbers: Int[np.ndarray, " other"]) -> "Pairs":
        """Some of the pairs, of the same fillers and roles."""
        return replace(self, filler_of=self.filler_of[numbers], role_of=self.role_of[numbers])

    def find(
        self, codes: Int[np.ndarray, " other"]
    ) -> tuple[Bool[np.ndarray, " other"], Int[np.ndarray, " other"]]:
        """Which codes are of these pairs, and the number of each (any where it is of none)."""
        at = np.searchsorted(self.codes, codes)
        return np.append(self.codes, -2)[at] == codes, at


def starts_of(parts: Sequence[Pairs]) -> list[int]:
    """Where the pairs of every part begin among those of all parts, and how many these are."""
    return np.cumsum([0, *map(len, parts)]).tolist()


def find_pairs(
    fillers: Sequence[str] | np.ndarray, terms: Sequence[Any]
) -> tuple[Pairs, list[Occurrences]]:
    """The pairs that tokens have by any term of a scheme, and every token's own by term."""
    filler, names = pd.factorize(np.asarray(fillers, object), sort=True)
    sizes = np.cumsum([0, *(len(term.categories) for term in terms)]).tolist()
    role = [np.where(t.codes < 0, -1, t.codes + s) for t, s in zip(terms, sizes, strict=False)]
    found = [(filler, each.astype(int)) for each in role]
    roles = pd.Index([name for term in terms for name in term.categories], dtype=object)
    return occurring(pd.Index(names), roles, found), found


def occurring(fillers: pd.Index, roles: pd.Index, found: Sequence[Occurrences]) -> Pairs:
    """The pairs of these fillers and roles that occur."""
    codes = np.unique(np.concatenate([_codes(each, len(roles)) for each in found]))
    return Pairs(fillers, roles, *np.divmod(codes[codes >= 0], len(roles)))


def count_pairs(members: csr_array, pairs: Pairs, found: Sequence[Occurrences]) -> csr_array:
    """X [unit, pair]: the pairs of the tokens that are members of a unit, added up."""
    of_token = csr_array((len(found[0][0]), len(pairs)))
    for each in found:
        is_known, column = pairs.find(_codes(each, len(pairs.roles)))
        known = np.flatnonzero(is_known)
        place = (known, column[known])
        of_token = of_token + csr_array((np.ones(len(known)), place), of_token.shape)
    return csr_array(members @ of_token)


def number(values: pd.Index, given: Sequence[object] | np.ndarray) -> Numbers:
    """The number of every given value, −1 for an unknown one."""
    return values.get_indexer(pd.Index(np.asarray(given, object)))


def _codes(found: Occurrences, roles: int) -> Numbers:
    filler, role = found
    return np.where((filler < 0) | (role < 0), -1, filler * roles + role)


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


def have(counts: csr_array, pairs: Bool[np.ndarray, " pair"]) -> Flags:
    """The units that have any of the pairs."""
    return np.asarray(counts @ pairs.astype(float)).reshape(-1) > 0


def rows_of(counts: csr_array, which: Flags) -> csr_array:
    """The counts of some units."""
    return csr_array(counts[np.flatnonzero(which)])


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs of a scheme, part by part, their counts side by side, and how units are divided.

    test     units that no fit sees
    unseen   units with a withheld pair of the first part, tested on or not
    judged   fitting units that choices are judged by: those of held-out documents, and those with one of further
             pairs that are withheld for that
    fitting  units that fits are made to: those that have no sequence that is tested on
    origin   of the units, by documents that are never divided
    """

    control: str
    parts: Sequence[Pairs]
    counts: csr_array
    test: Flags
    unseen: Flags
    judged: Flags
    fitting: Flags
    origin: Provenance

    @classmethod
    def divide(
        cls,
        parts: Sequence[Pairs],
        counts: csr_array,
        origin: Provenance,
        split: tuple[Flags, Flags],
        shares: tuple[float, float],
        rng: np.random.Generator,
    ) -> "Design":
        """The design with shares of pairs withheld: of all fitting units, then, to choose by, of those left."""
        test, judged = split
        fitted = leave_out(~test, test, origin.sequences)
        x = csr_array(counts[:, : len(parts[0])])
        unseen = have(x, withhold(rows_of(x, fitted), parts[0], shares[0], rng))
        rest = rows_of(x, fitted & ~unseen)
        inner = have(x, withhold(rest, parts[0], shares[1], rng, INNER_UNITS))
        judged = (judged | inner) & fitted
        return cls(AS_IS, parts, counts, test, unseen, judged, fitted, origin)

    @property
    def fitted(self) -> list[Flags]:
        """All fitting units; of no control also those without withheld pairs, and all units."""
        units = [self.fitting, self.fitting & ~self.unseen, np.ones(len(self.test), bool)]
        return units if self.control == AS_IS else units[:1]


def design(units: Units, scheme: RoleScheme, share: float, seed: int) -> Iterator[Design]:
    """The design of a scheme, then with roles shuffled within sequences, and with fillers across all."""
    entries = scheme.enter(units.kind, units.tokens, units.members)
    pairs, found = find_pairs(units.fillers[entries.token], entries.roles)
    split = divide_documents(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    counted = _count(entries, pairs, found)
    real = Design.divide(*counted, units.origin, split, (share, share or 0.1), rng)
    yield real
    within, across = permute_within(entries.group, rng), rng.permutation(len(units.tokens))
    filler = pairs.fillers.get_indexer(pd.Index(units.fillers[across][entries.token]))
    for control, shuffled in (
        (SHUFFLED_ROLES, [(filler, role[within]) for filler, role in found]),
        (SHUFFLED_FILLERS, [(np.where(known < 0, known, filler), role) for known, role in found]),
    ):
        occur = occurring(pairs.fillers, pairs.roles, shuffled)
        parts, counts = _count(entries, occur, shuffled)
        yield replace(real, control=control, parts=parts, counts=counts)


def _count(
    entries: Entries, pairs: Pairs, found: Sequence[Occurrences]
) -> tuple[list[Pairs], csr_array]:
    """The pairs that every part has, and their counts, part beside part."""
    counts = [count_pairs(of, pairs, found) for of in entries.members]
    held = [np.unique(of.indices) for of in counts]
    beside = [of[:, some] for of, some in zip(counts, held, strict=True)]
    return [pairs.take(some) for some in held], csr_array(hstack(beside, format="csr"))
