"""Role schemes: which role every token of a sequence has.

``left``, ``left*right`` (a role is a pair of places), ``left+right`` (a token has two roles, each with
a vector of its own), ``offset`` (the distance from the unit's token), names of columns, and functions of a
sequence of fillers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.role_fields import (
    ALIASES,
    NEEDS,
    Field,
    find_field,
    is_relative,
    offsets,
    pair_up,
    sequence_field,
)
from tprprobe.analyses.decomposition.unit_kinds import Entries
from tprprobe.errors import InputError

Labels = Any  # pd.Categorical of texts
Roles = str | Callable[[list[str]], Any]


@dataclass(frozen=True)
class RoleScheme:
    """A sum of products of fields; ``own`` is a user's function in place of names."""

    name: str
    terms: tuple[tuple[str, ...], ...]
    own: Field | None = None

    @property
    def columns(self) -> set[str]:
        """The columns of the table of tokens that are read, built-in fields among them."""
        fields = {ALIASES.get(name, name) for term in self.terms for name in term}
        return fields | {column for name in fields for column in NEEDS.get(name, ())}

    @property
    def relative(self) -> list[bool]:
        """True for every term with a role that is relative to the unit."""
        return [any(map(is_relative, term)) for term in self.terms] or [False]

    def label(self, tokens: pd.DataFrame, entries: Entries | None = None) -> list[Labels]:
        """The role of every token, or of every entry, term by term.

        Raises:
            InputError: a field is neither built in nor a column.
        """
        at = slice(None) if entries is None else entries.token
        if self.own is not None:
            return [pd.Categorical(self.own(tokens)[at])]
        found = []
        for term in self.terms:
            fields = [
                offsets(name, entries) if is_relative(name) else find_field(name, tokens)[at]
                for name in term
            ]
            values = pair_up(*fields)
            prefix = "" if len(self.terms) == 1 else "*".join(term) + ":"
            found.append(pd.Categorical(values).rename_categories(lambda v, p=prefix: f"{p}{v}"))
        return found


def read_scheme(roles: Roles) -> RoleScheme:
    """The scheme of a name such as ``left*right+pos``, or of a function of a sequence of fillers.

    Raises:
        InputError: a name with an empty part, or roles without fillers.
    """
    if not isinstance(roles, str):
        return RoleScheme(getattr(roles, "__name__", "roles"), (), sequence_field(roles))
    if "(" in roles:
        raise InputError(
            f"roles {roles!r}: roles in brackets have no fillers: give the fields without brackets; the family "
            "roles has no fillers, additive a bag of each"
        )
    terms = tuple(tuple(map(str.strip, term.split("*"))) for term in roles.split("+"))
    if not all(all(term) for term in terms):
        raise InputError(f"roles {roles!r}: give fields joined by * and +, such as left*right+pos")
    return RoleScheme("+".join("*".join(term) for term in terms), terms)
