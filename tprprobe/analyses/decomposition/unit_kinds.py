"""What a vector is of, and which tokens it may be made of, as counts or as shares of a mean."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import csr_array, eye_array

from tprprobe.errors import InputError, unknown
from tprprobe.site.patterns import is_causal
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES
from tprprobe.store.tokens import FIRST, LAST, MEAN, rows_of

TOKEN = "token"
SELF, BEFORE, ALL, CONTEXT = SCOPES = ("self", "before", "all", "context")
UNITS = (TOKEN, SAMPLE, MEAN, FIRST, LAST)
OF_TOKENS = {
    SELF: "the vector of a token, explained by its filler and role",
    BEFORE: "the vector of a token, explained by counts of the tokens up to it",
    ALL: "the vector of a token, explained by counts of all tokens of its sample",
    CONTEXT: "the vector of a token, explained by its filler and role and by shares of the others",
}
OF_SAMPLES = (
    "offset is relative to a token, but a vector is of all tokens of a sample: give left, right or another place "
    "in the sample"
)
OF_ITSELF = f"with scope {SELF} the offset is always 0: give scope {CONTEXT}, {BEFORE} or {ALL}"
OF_ALL = (
    f"with scope {ALL} every token of a sample has the same sum of bindings, so it cannot distinguish tokens: "
    f"give scope {CONTEXT}, or the roles offset"
)


@dataclass(frozen=True)
class UnitKind:
    """What a vector is of, and which tokens it may be made of.

    unit        ``token``, ``sample`` (a vector of all tokens together, as an encoder returns it), or one
                that stands for its sample: the ``mean``, the ``first``, the ``last`` token's, that of
                the last token that reads as this mark
    scope       of a token: which tokens it is made of
    is_stored   one vector a sample lies in the store
    looks_back  a token's vector depends on no token after it
    """

    unit: str
    scope: str = SELF
    is_stored: bool = False
    looks_back: bool = False

    def places(self, tokens: pd.DataFrame) -> Int[np.ndarray, " unit"] | None:
        """The token whose vector a unit has; None where it is of all tokens together."""
        if self.unit == TOKEN:
            return np.arange(len(tokens))
        return None if self.unit in (SAMPLE, MEAN) else rows_of(tokens, self.unit)

    def members(self, tokens: pd.DataFrame) -> list[csr_array]:
        """Which tokens a unit may be made of, part by part: counts, or shares that add up to 1."""
        sample = pd.factorize(tokens["sample"])[0]
        if self.unit == TOKEN:
            return members_of(sample, TOKEN, self.scope, self.looks_back)
        [whole] = members_of(sample, SAMPLE, SELF)
        if self.unit == MEAN:
            return [_shares(whole)]
        at = self.places(tokens)
        if at is not None and self.looks_back:
            whole.data[whole.indices > np.repeat(at, np.diff(whole.indptr))] = 0
            whole.eliminate_zeros()
        return [whole]

    def check(self, roles: str, relative: list[bool]) -> None:
        """Raises an InputError where roles cannot distinguish the units; ``relative`` is by term."""
        scope = self.scope if self.unit == TOKEN else None
        fault = ""
        if any(relative) and self.unit in (SAMPLE, MEAN):
            fault = OF_SAMPLES
        elif any(relative) and scope == SELF:
            fault = OF_ITSELF
        elif not all(relative) and scope == ALL:
            fault = OF_ALL
        if fault:
            raise InputError(f"roles {roles}: {fault}")

    def __str__(self) -> str:
        if self.unit == TOKEN:
            return OF_TOKENS[self.scope]
        if self.unit == MEAN:
            return "the mean of a sample's vectors, made of shares of its tokens"
        if self.unit == SAMPLE:
            return "a sample's vector, made of counts of its tokens"
        which = {FIRST: "first token", LAST: "last token"}.get(self.unit, f"last {self.unit!r}")
        of = "the tokens up to it" if self.looks_back else "all tokens"
        return f"the vector of a sample's {which}, made of counts of {of}"


def read_kind(store: Store, site: str, unit: str | None = None, scope: str = SELF) -> UnitKind:
    """The kind of a site's units.

    ``unit`` is by default what the site has a vector of. The unit ``sample`` of a site of tokens is the
    vector of each sample's last token; a mark such as ``.`` that of the last token that reads so.

    Raises:
        InputError: no such unit or scope, or one that the site cannot have.
    """
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    if unit is not None and unit.isalpha() and unit not in UNITS:
        raise unknown("unit", unit, (*UNITS, "a mark such as ."))
    stored = store.side(site) not in SIDES
    pool = store.pool or SAMPLE
    if stored and unit not in (None, SAMPLE, pool):
        raise InputError(
            f"{site} has one vector for every sample ({pool}): give the unit {pool}, not {unit}"
        )
    unit = pool if stored else LAST if unit == SAMPLE else unit or TOKEN
    if unit != TOKEN and scope != SELF:
        raise InputError(
            f"scope {scope} is of tokens, but a vector is of a sample: leave scope out"
        )
    back = is_causal(site)
    if back and scope == ALL:
        raise InputError(
            f"{site} looks back: a token's vector depends on no token after it: give scope {CONTEXT} or "
            f"{BEFORE}, not {ALL}"
        )
    return UnitKind(unit, scope, stored, back)


def members_of(
    sample: Int[np.ndarray, " token"], unit: str, scope: str, looks_back: bool = False
) -> list[csr_array]:
    """Which tokens a unit is made of, part by part, by the scopes of ``OF_TOKENS``."""
    n, at = len(sample), np.arange(len(sample))
    if unit != TOKEN:
        return [csr_array((np.ones(n), (sample, at)))]
    itself = csr_array(eye_array(n, format="csr"))
    if scope == SELF:
        return [itself]
    starts = np.flatnonzero(np.append(True, sample[1:] != sample[:-1]))
    ends = np.append(starts[1:], n)[sample]
    is_past = scope == BEFORE or (scope == CONTEXT and looks_back)
    counts = (at + 1 if is_past else ends) - starts[sample]
    offsets = np.append(0, np.cumsum(counts))
    members = np.arange(offsets[-1]) + np.repeat(starts[sample] - offsets[:-1], counts)
    found = csr_array((np.ones(len(members)), members, offsets), (n, n))
    if scope != CONTEXT:
        return [found]
    others = csr_array(found - itself)
    others.eliminate_zeros()
    return [itself, _shares(others)]


def _shares(members: csr_array) -> csr_array:
    """The same, so that the members of a unit add up to 1."""
    sums = np.asarray(members.sum(1)).reshape(-1)
    return csr_array(members * (1 / np.maximum(1, sums))[:, None])


@dataclass(frozen=True, eq=False)
class Entries:
    """The tokens that units are made of, one entry a unit and token: roles may depend on both.

    members  [unit, entry], part by part
    token    the token of every entry; ``offset`` its distance from the unit's; ``group`` what roles are
             shuffled within: a sample, or a unit
    """

    members: list[csr_array]
    token: Int[np.ndarray, " entry"]
    offset: Int[np.ndarray, " entry"]
    group: Int[np.ndarray, " entry"]


def entries_of_units(members: list[csr_array], at: Int[np.ndarray, " unit"]) -> Entries:
    """An entry for every token of every unit, part after part; ``at`` is the token of every unit."""
    units = [np.repeat(np.arange(len(at)), np.diff(each.indptr)) for each in members]
    starts = np.cumsum([0, *(len(each.indices) for each in members)])
    spread = []
    for each, start in zip(members, starts, strict=False):
        entry = np.arange(len(each.indices)) + start
        spread.append(csr_array((each.data, entry, each.indptr), (len(at), starts[-1])))
    unit = np.concatenate(units)
    token = np.concatenate([each.indices for each in members])
    return Entries(spread, token, token - at[unit], unit)
