"""Role schemes: which role every token of a sequence has, made of fields of tokens.

``left``, ``left*right`` (a role is a pair of places), ``left+right`` (a token has two roles, each with
a vector of its own), ``offset`` (the distance from the unit's token), names of columns, and functions of a
sequence of fillers. A field is a function of a table of tokens, one row a token, samples in one piece, with
the columns ``sample`` and ``filler``; it gives one value a token.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped
from pandas.api.typing import DataFrameGroupBy
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.sequence_units import UnitKind
from tprprobe.errors import InputError, unknown
from tprprobe.store.tokens import starts_of

Values = Shaped[np.ndarray, " token"]
Field = Callable[[pd.DataFrame], Values]
SequenceField = Callable[
    [list[str]], Sequence[object]
]  # a user's: the roles of a sequence of fillers
Labels = Any  # pd.Categorical of texts
Roles = str | SequenceField

EDGE, NONE = "#", "–"  # what stands beyond a sequence; what has no value
EXPRESSION = ("kind", "parent", "slot", "place")  # gold columns of arithmetic
NEEDS = {"expression": EXPRESSION, "svo": ("dep",)}  # columns that built-in fields read
OFFSET = "offset"  # relative to the unit
ALIASES = {"POS": "pos", "dependency": "dep"}
ARGUMENTS = {"nsubj": "S", "csubj": "S", "root": "V", "obj": "O", "iobj": "O"}


def join_smallest(fillers: Sequence[str]) -> list[str]:
    """The path from the root to every filler, as 0 (left) and 1 (right).

    Again and again the smallest filler (the leftmost of equals, never the last) is joined with the
    one after it; the pair bears the value of its second. Numbers are ordered as numbers.
    Source: McCoy et al. 2019, App. B.

    >>> join_smallest(["5", "1", "3"])
    ['0', '10', '11']
    """
    try:
        values: list[Any] = list(map(float, fillers))
    except ValueError:
        values = list(fillers)
    spans = [[i] for i in range(len(fillers))]
    paths = [""] * len(fillers)
    while len(spans) > 1:
        smallest = min(range(len(spans) - 1), key=values.__getitem__)
        joined = spans[smallest : smallest + 2]
        for branch, span in zip("01", joined, strict=True):
            for i in span:
                paths[i] = branch + paths[i]
        spans[smallest : smallest + 2] = [joined[0] + joined[1]]
        del values[smallest]
    return paths


def sequence_field(roles: SequenceField) -> Field:
    """The field that a function of sequences of fillers makes; like sequences are asked about once."""

    @functools.cache
    def ask(sequence: tuple[str, ...]) -> list[str]:
        labels = list(map(str, roles(list(sequence))))
        if len(labels) != len(sequence):
            raise InputError(
                f"{len(labels)} roles of {len(sequence)} fillers: a function of roles gives one role a filler"
            )
        return labels

    def field(tokens: pd.DataFrame) -> Values:
        starts = starts_of(pd.factorize(tokens["sample"])[0])
        fillers = np.split(tokens["filler"].astype(str).to_numpy(object), starts[1:])
        return np.array([role for sample in fillers for role in ask(tuple(sample))], object)

    return field


def _by_sample(tokens: pd.DataFrame) -> DataFrameGroupBy:
    return tokens.groupby("sample", sort=False)


def _neighbor(tokens: pd.DataFrame, step: int) -> Values:
    """The filler a step before; ``#`` beyond the sequence."""
    return _by_sample(tokens)["filler"].shift(step, fill_value=EDGE).to_numpy(object)


def _svo(tokens: pd.DataFrame) -> Values:
    """S for a subject, V for the root, O for an object, by the relation of a word; else ``–``."""
    relations = pd.Series(_column(tokens, "dep")).astype(str).str.partition(":")[0]
    return relations.map(ARGUMENTS).fillna(NONE).to_numpy(object)


BUILT_IN: Mapping[str, Field] = {
    "bag": lambda tokens: np.full(len(tokens), "any", object),  # one role for all
    "left": lambda tokens: _by_sample(tokens).cumcount().to_numpy(),
    "right": lambda tokens: _by_sample(tokens).cumcount(ascending=False).to_numpy(),
    "length": lambda tokens: _by_sample(tokens)["sample"].transform("size").to_numpy(),
    "before": lambda tokens: _neighbor(tokens, 1),
    "after": lambda tokens: _neighbor(tokens, -1),
    "wickel": lambda tokens: pair_up(_neighbor(tokens, 1), _neighbor(tokens, -1)),
    "tree": sequence_field(join_smallest),
    "expression": lambda tokens: pair_up(*(_column(tokens, name) for name in EXPRESSION)),
    "svo": _svo,
}  # Sources: Wickelgren 1969; McCoy et al. 2019


def is_relative(name: str) -> bool:
    """True for ``offset``, the distance from the unit's token, and clipped ones: ``offset3``."""
    return re.fullmatch(r"offset\d*", name) is not None


def find_field(name: str, tokens: pd.DataFrame) -> Values:
    """The values of the built-in field or column of that name, or an InputError."""
    name = ALIASES.get(name, name)
    return BUILT_IN[name](tokens) if name in BUILT_IN else _column(tokens, name)


def _column(tokens: pd.DataFrame, name: str) -> Values:
    if name not in tokens:
        columns = [str(column) for column in tokens if column not in ("sample", "filler")]
        raise unknown("field of roles", name, [*BUILT_IN, OFFSET, *ALIASES, *columns])
    column = tokens[name].astype(object)
    return column.where(column.notna() & (column != ""), NONE).to_numpy()


def pair_up(*fields: Values) -> Values:
    """The values of several fields side by side, as one text a token: ``2*0``."""
    codes, values = zip(*(pd.factorize(np.asarray(field, object)) for field in fields), strict=True)
    rows, index = np.unique(np.stack(codes, 1), axis=0, return_inverse=True)
    texts = ["*".join(str(v[i]) for v, i in zip(values, row, strict=True)) for row in rows]
    return np.array(texts, object)[index.reshape(-1)]


@dataclass(frozen=True, eq=False)
class RoleAssignments:
    """The tokens that units are made of, with their roles; an entry a unit and token where these depend on both.

    members  [unit, entry], part by part
    token    the token of every entry; ``group`` what its roles are shuffled within: a sample, or a unit
    roles    of every entry, term by term
    """

    members: list[csr_array]
    token: Int[np.ndarray, " entry"]
    group: Shaped[np.ndarray, " entry"]
    roles: list[Labels]


@dataclass(frozen=True)
class RoleScheme:
    """A sum of products of fields; ``function`` is a user's in place of names."""

    name: str
    terms: tuple[tuple[str, ...], ...]
    function: Field | None = None

    @property
    def columns(self) -> set[str]:
        """The columns of the table of tokens that are read, built-in fields among them."""
        fields = {ALIASES.get(name, name) for term in self.terms for name in term}
        return fields | {column for name in fields for column in NEEDS.get(name, ())}

    def assign(
        self, kind: UnitKind, tokens: pd.DataFrame, members: list[csr_array]
    ) -> RoleAssignments:
        """The tokens that units of a kind are made of, with their roles."""
        relative = [any(map(is_relative, term)) for term in self.terms] or [False]
        kind.check(self.name, relative)
        centers = kind.find_tokens(tokens)
        if not any(relative) or centers is None:
            samples = tokens["sample"].to_numpy()
            return RoleAssignments(members, np.arange(len(tokens)), samples, self.label(tokens))
        token = np.concatenate([m.indices for m in members])
        units = [np.repeat(np.arange(len(centers)), np.diff(m.indptr)) for m in members]
        unit, starts = np.concatenate(units), np.cumsum([0, *(m.nnz for m in members)])
        spread = [
            csr_array((m.data, start + np.arange(m.nnz), m.indptr), (len(centers), starts[-1]))
            for m, start in zip(members, starts, strict=False)
        ]
        labels = self.label(tokens, token, token - centers[unit])
        return RoleAssignments(spread, token, unit, labels)

    def label(
        self,
        tokens: pd.DataFrame,
        token: slice | Int[np.ndarray, " entry"] = slice(None),
        offset: Int[np.ndarray, " entry"] | None = None,
    ) -> list[Labels]:
        """The role of every token, or of some, so far from their units' tokens, term by term."""
        if self.function is not None:
            return [pd.Categorical(self.function(tokens)[token])]

        def values(name: str) -> Values:
            if not is_relative(name):
                return find_field(name, tokens)[token]
            if offset is None:
                raise InputError("offset is relative to a unit: give a place in the sample: left")
            limit = name.removeprefix(OFFSET)
            return np.clip(offset, -int(limit), int(limit)) if limit else offset

        labels = [pd.Categorical(pair_up(*map(values, term))) for term in self.terms]
        if len(labels) == 1:
            return labels
        names = map("*".join, self.terms)
        return [
            of_term.rename_categories({value: f"{name}:{value}" for value in of_term.categories})
            for name, of_term in zip(names, labels, strict=True)
        ]


def read_scheme(roles: Roles) -> RoleScheme:
    """The scheme of a name such as ``left*right+pos``, or of a function of a sequence of fillers."""
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
