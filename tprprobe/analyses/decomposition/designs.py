"""Designs: how often every unit has each pair of a filler and a role, as it is or shuffled, and which units are fitted to.

Some pairs are withheld from fitting units: whether a decomposition predicts them says if its binding is systematic.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import csr_array, hstack

from tprprobe.analyses.decomposition.role_schemes import RoleAssignments, RoleScheme
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.pairs import (
    Flags,
    Occurrences,
    Pairs,
    count_pairs,
    find_pairs,
    first_pair,
    hold_out_pairs,
    select_units,
)
from tprprobe.evaluation.splits import Provenance, divide_documents, leave_out
from tprprobe.statistics import permute_within

INNER_UNITS = 0.1  # of the units, lost to pairs that are withheld to choose a rank
AS_IS, SHUFFLED_ROLES = "", "shuffled roles"
ANY_FILLER, ROUNDING = "any", 1e-9
FITTING, UNWITHHELD, ALL = range(3)  # units that a design is fitted to


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs of a scheme, part by part, their counts side by side, and how units are divided.

    test     units that no fit sees
    withheld the first withheld pair of the first part that a unit has, tested on or not; -1 for none
    judged   fitting units that choices are judged by: those of held-out documents, and those with one of further
             pairs that are withheld for that
    fitting  units that fits are made to: those that have no sequence that is tested on
    origin   of the units, by documents that are never divided
    """

    control: str
    parts: Sequence[Pairs]
    counts: csr_array
    test: Flags
    withheld: Int[np.ndarray, " unit"]
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
        test, is_judged = split
        fitting = leave_untested(~test, test, origin)
        of_first = csr_array(counts[:, : len(parts[0])])
        withheld = hold_out_pairs(select_units(of_first, fitting), parts[0], shares[0], rng)
        first_withheld = first_pair(of_first, withheld)
        remaining = select_units(of_first, fitting & (first_withheld < 0))
        inner = hold_out_pairs(remaining, parts[0], shares[1], rng, INNER_UNITS)
        is_judged = (is_judged | (first_pair(of_first, inner) >= 0)) & fitting
        return cls(AS_IS, parts, counts, test, first_withheld, is_judged, fitting, origin)

    @functools.cached_property
    def unseen(self) -> Flags:
        """The units with a withheld pair."""
        return self.withheld >= 0

    @property
    def fitted(self) -> list[Flags]:
        """All fitting units; of no control also those without withheld pairs, and all units."""
        units = [self.fitting, self.fitting & ~self.unseen, np.ones(len(self.test), bool)]
        return units if self.control == AS_IS else units[:1]

    def divide_to_choose(self, units: int) -> tuple[Flags, Flags]:
        """Splits the fitted units by document: one part fits candidates, the other selects among them."""
        documents, is_fitted = self.origin.documents, self.fitted[units]
        is_candidate = is_fitted & ~self.judged
        is_judged = is_fitted & ~np.isin(documents, documents[is_candidate])
        return leave_untested(is_candidate, is_judged, self.origin), is_judged


def leave_untested(is_fitted: Flags, tested: Flags, origin: Provenance) -> Flags:
    """The fitted units that have no sequence in common with a tested one."""
    untested = leave_out(is_fitted, tested, origin.sequences)
    if not untested.any():
        n = len(np.unique(origin.sequences, axis=0))
        raise InputError(
            f"no sequence is left to fit to: {len(is_fitted)} samples have {n} different sequences, and all are tested "
            "on; give more different texts, or a model that knows more of their symbols"
        )
    return untested


def make_designs(units: Units, scheme: RoleScheme, share: float, seed: int) -> Iterator[Design]:
    """The design of a scheme, then with roles shuffled within sequences.

    Where that changes which roles a unit has, as of single tokens, further parts count its roles as they are, whatever filler has
    them: the control explains what fillers and roles leave, as bindings do.
    """
    assignments = scheme.assign(units.kind, units.tokens, units.members)
    pairs, occurrences = find_pairs(units.fillers[assignments.token], assignments.roles)
    split = divide_documents(units.groups, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    counts = _count(assignments, pairs, occurrences)
    design = Design.divide(*counts, units.origin, split, (share, share or 0.1), rng)
    yield design
    within = permute_within(assignments.group, rng)
    shuffled = [(filler, role[within]) for filler, role in occurrences]
    occurring = Pairs.occurring(pairs.fillers, pairs.roles, shuffled)
    pairs_by_part, counts = _count(assignments, occurring, shuffled)
    roles = Pairs.product(pd.Index([ANY_FILLER]), pairs.roles)
    bags, changed = ([count_pairs(members, roles, [(np.zeros_like(role), role) for _, role in of_tokens]) for members in assignments.members]
                     for of_tokens in (occurrences, shuffled))  # fmt: skip
    if any(abs(bag - other).max() > ROUNDING for bag, other in zip(bags, changed, strict=True)):
        pairs_by_part += [roles] * len(bags)
        counts = csr_array(hstack([counts, *bags], format="csr"))
    yield replace(design, control=SHUFFLED_ROLES, parts=pairs_by_part, counts=counts)


def _count(
    assignments: RoleAssignments, pairs: Pairs, occurrences: Sequence[Occurrences]
) -> tuple[list[Pairs], csr_array]:
    """The pairs that every part has, and their counts, part beside part."""
    counts = [count_pairs(membership, pairs, occurrences) for membership in assignments.members]
    present = [np.unique(matrix.indices) for matrix in counts]
    columns = [matrix[:, ids] for matrix, ids in zip(counts, present, strict=True)]
    return [pairs.take(ids) for ids in present], csr_array(hstack(columns, format="csr"))
