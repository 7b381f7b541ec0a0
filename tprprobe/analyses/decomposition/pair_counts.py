"""How often every unit has every pair of a filler and a role: X [unit, pair], sparse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy.sparse import csr_array


def sizes(x: Any) -> tuple[int, int]:
    """The rows and columns of a sparse array, which the library's types do not promise."""
    return x.shape


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
        """Which codes are of these pairs, and the number of each (any number where it is of none)."""
        at = np.minimum(np.searchsorted(self.codes, codes), max(0, len(self) - 1))
        return self.codes[at] == codes, at


def starts_of(parts: Sequence[Pairs]) -> list[int]:
    """Where the pairs of every part begin among those of all parts, and how many these are."""
    return np.cumsum([0, *map(len, parts)]).tolist()


Numbers = Int[np.ndarray, " token"]
Occurrences = tuple[Numbers, Numbers]  # filler and role, −1: none


def find_pairs(
    fillers: Sequence[str] | np.ndarray, terms: Sequence[Any]
) -> tuple[Pairs, list[Occurrences]]:
    """The pairs that tokens have by any term of a scheme, and every token's own by term."""
    filler, names = pd.factorize(np.asarray(fillers, object), sort=True)
    sizes = np.cumsum([0, *(len(term.categories) for term in terms)]).tolist()
    role = [np.where(t.codes < 0, -1, t.codes + s) for t, s in zip(terms, sizes, strict=False)]
    found = [(filler, each.astype(int)) for each in role]
    codes = np.unique(np.concatenate([_codes(each, sizes[-1]) for each in found]))
    filler_of, role_of = np.divmod(codes[codes >= 0], sizes[-1])
    roles = pd.Index([name for term in terms for name in term.categories], dtype=object)
    return Pairs(pd.Index(names), roles, filler_of, role_of), found


def count_pairs(members: csr_array, pairs: Pairs, found: Sequence[Occurrences]) -> csr_array:
    """X [unit, pair]: the pairs of the tokens that are members of a unit, added up."""
    tokens = len(found[0][0])
    of_token = csr_array((tokens, len(pairs)))
    for each in found:
        codes = _codes(each, len(pairs.roles))
        is_known, column = pairs.find(codes)
        known = np.flatnonzero(is_known)
        place = (known, column[known])
        of_token = of_token + csr_array((np.ones(len(known)), place), of_token.shape)
    return csr_array(members @ of_token)


def number(values: pd.Index, given: Sequence[object] | np.ndarray) -> Int[np.ndarray, " token"]:
    """The number of every given value, −1 for an unknown one."""
    return values.get_indexer(pd.Index(np.asarray(given, object)))


def _codes(found: Occurrences, roles: int) -> Int[np.ndarray, " token"]:
    filler, role = found
    return np.where((filler < 0) | (role < 0), -1, filler * roles + role)
