"""Role schemes: which role every token of a sequence has.

``left``, ``left*right`` (a role is a pair of places), ``left+right`` (a token has two roles, each with
a vector of its own), names of columns, and functions of a sequence of fillers.
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
    pair_up,
    sequence_field,
)
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

    def label(self, tokens: pd.DataFrame) -> list[Labels]:
        """The role of every token, term by term.

        Raises:
            InputError: a field is neither built in nor a column.
        """
        if self.own is not None:
            return [pd.Categorical(self.own(tokens))]
        found = []
        for term in self.terms:
            values = pair_up(*(find_field(name, tokens) for name in term))
            prefix = "" if len(self.terms) == 1 else "*".join(term) + ":"
            found.append(pd.Categorical(values).rename_categories(lambda v, p=prefix: f"{p}{v}"))
        return found


def read_scheme(roles: Roles) -> RoleScheme:
    """The scheme of a name such as ``left*right+pos``, or of a function of a sequence of fillers.

    Raises:
        InputError: a name with an empty part.
    """
    if not isinstance(roles, str):
        return RoleScheme(getattr(roles, "__name__", "roles"), (), sequence_field(roles))
    terms = tuple(tuple(map(str.strip, term.split("*"))) for term in roles.split("+"))
    if not all(all(term) for term in terms):
        raise InputError(f"roles {roles!r}: give fields joined by * and +, such as left*right+pos")
    return RoleScheme("+".join("*".join(term) for term in terms), terms)
