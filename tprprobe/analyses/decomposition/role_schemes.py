"""Role schemes: which role every token of a sequence has, made of fields of tokens.

``left``, ``left*right`` (a role is a pair of places), ``left+right`` (a token has two roles, each with
a vector of its own), ``offset`` (the distance from the unit's token), names of columns, and functions of a
sequence of fillers. A field is a function of a table of tokens, one row a token, samples in one piece, with
the columns ``sample`` and ``filler``; it gives one value a token.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from tprprobe.analyses.decomposition.unit_kinds import Entries
from tprprobe.errors import InputError, unknown


def join_smallest(fillers: Sequence[str]) -> list[str]:
    """The way from the root to every filler, as 0 (left) and 1 (right).

    Again and again the smallest filler (the leftmost of equals, never the last) is joined with the
    one after it; the pair bears the value of its second. Numbers are ordered as numbers.
    Source: McCoy et al. 2019, App. B.

    >>> join_smallest(["5", "1", "3"])
    ['0', '10', '11']
    """
    try:
        values: list[Any] = [float(each) for each in fillers]
    except ValueError:
        values = list(fillers)
    spans = [[i] for i in range(len(fillers))]
    ways = [""] * len(fillers)
    while len(spans) > 1:
        first = min(range(len(spans) - 1), key=values.__getitem__)
        for turn, span in zip("01", spans[first : first + 2], strict=True):
            for i in span:
                ways[i] = turn + ways[i]
        spans[first : first + 2] = [spans[first] + spans[first + 1]]
        del values[first]
    return ways


Values = Shaped[np.ndarray, " token"]
Field = Callable[[pd.DataFrame], Values]
SequenceField = Callable[[list[str]], Sequence[Any]]  # a user's: the roles of a sequence of fillers

EDGE, NONE = "#", "–"  # what stands beyond a sequence; what has no value
EXPRESSION = ("kind", "parent", "slot", "place")  # gold columns of arithmetic
OFFSET = "offset"  # relative to the unit
ALIASES = {"POS": "pos", "dependency": "dep"}
ARGUMENTS = {"nsubj": "S", "csubj": "S", "root": "V", "obj": "O", "iobj": "O"}


def left(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """The place from the left, from 0."""
    return tokens.groupby("sample", sort=False).cumcount().to_numpy()


def right(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """The place from the right, from 0."""
    return tokens.groupby("sample", sort=False).cumcount(ascending=False).to_numpy()


def length(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """How many tokens the sequence has."""
    return tokens.groupby("sample", sort=False)["sample"].transform("size").to_numpy()


def before(tokens: pd.DataFrame) -> Values:
    """The filler before; ``#`` at the left end."""
    fillers = tokens.groupby("sample", sort=False)["filler"]
    return fillers.shift(1, fill_value=EDGE).to_numpy(object)


def after(tokens: pd.DataFrame) -> Values:
    """The filler after; ``#`` at the right end."""
    fillers = tokens.groupby("sample", sort=False)["filler"]
    return fillers.shift(-1, fill_value=EDGE).to_numpy(object)


def wickel(tokens: pd.DataFrame) -> Values:
    """The fillers on both sides. Source: Wickelgren 1969; McCoy et al. 2019."""
    return pair_up(before(tokens), after(tokens))


def tree(tokens: pd.DataFrame) -> Values:
    """The way down to a token in the tree of joined smallest fillers. Source: McCoy et al. 2019."""
    return sequence_field(join_smallest)(tokens)


def bag(tokens: pd.DataFrame) -> Values:
    """One role for all."""
    return np.full(len(tokens), "any", object)


def expression(tokens: pd.DataFrame) -> Values:
    """The kind of a character of an expression, the argument of which operator it is, its decimal place."""
    return pair_up(*(_column(tokens, name) for name in EXPRESSION))


def svo(tokens: pd.DataFrame) -> Values:
    """S for a subject, V for the root, O for an object, by the relation of a word; else ``–``."""
    relations = pd.Series(_column(tokens, "dep")).astype(str).str.partition(":")[0]
    return relations.map(ARGUMENTS).fillna(NONE).to_numpy(object)


FIELDS = (bag, left, right, length, before, after, wickel, tree, expression, svo)
BUILT_IN: Mapping[str, Field] = MappingProxyType({each.__name__: each for each in FIELDS})
NEEDS = {"expression": EXPRESSION, "svo": ("dep",)}  # columns that built-in fields read


def is_relative(name: str) -> bool:
    """True for ``offset``, the distance from the unit's token, and clipped ones: ``offset3``."""
    return re.fullmatch(r"offset\d*", name) is not None


def offsets(name: str, entries: Entries | None) -> Int[np.ndarray, " entry"]:
    """The distance of every entry's token from its unit's, clipped where the name says so."""
    if entries is None:
        raise InputError("offset is relative to a unit: give a place in the sample, such as left")
    most = name.removeprefix("offset")
    return np.clip(entries.offset, -int(most), int(most)) if most else entries.offset


def find_field(name: str, tokens: pd.DataFrame) -> Values:
    """The values of the built-in field or column of that name, or an InputError."""
    name = ALIASES.get(name, name)
    if name in BUILT_IN:
        for column in NEEDS.get(name, ()):
            _column(tokens, column)
        return BUILT_IN[name](tokens)
    return _column(tokens, name)


def sequence_field(roles: SequenceField) -> Field:
    """The field that a function of sequences of fillers makes; like sequences are asked about once."""

    def field(tokens: pd.DataFrame) -> Values:
        known: dict[tuple[str, ...], Sequence[Any]] = {}
        values: list[Any] = []
        fillers = tokens["filler"].astype(str).to_list()
        for span in spans_of(tokens):
            sequence = tuple(fillers[span])
            if sequence not in known:
                known[sequence] = roles(list(sequence))
            if len(known[sequence]) != len(sequence):
                raise InputError(
                    f"{len(known[sequence])} roles of {len(sequence)} fillers: a function of roles "
                    "gives one role a filler"
                )
            values += map(str, known[sequence])
        return np.array(values, object)

    return field


def spans_of(tokens: pd.DataFrame) -> list[slice]:
    """Where every sample's tokens lie."""
    sample = tokens["sample"].to_numpy()
    starts = np.flatnonzero(np.append(True, sample[1:] != sample[:-1]))
    ends = np.append(starts[1:], len(sample))
    return [slice(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def pair_up(*fields: Values) -> Values:
    """The values of several fields side by side, as one text a token: ``2*0``."""
    codes, values = zip(*(pd.factorize(np.asarray(each, object)) for each in fields), strict=True)
    rows, of_token = np.unique(np.stack(codes, 1), axis=0, return_inverse=True)
    texts = ["*".join(str(v[i]) for v, i in zip(values, row, strict=True)) for row in rows]
    return np.array(texts, object)[of_token.reshape(-1)]


def _column(tokens: pd.DataFrame, name: str) -> Values:
    if name not in tokens:
        known = [str(each) for each in tokens if each not in ("sample", "filler")]
        raise unknown("field of roles", name, [*BUILT_IN, OFFSET, *ALIASES, *known])
    column = tokens[name].astype(object)
    return column.where(column.notna() & (column != ""), NONE).to_numpy()


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
        """The role of every token, or of every entry, term by term."""
        at = slice(None) if entries is None else entries.token
        if self.own is not None:
            return [pd.Categorical(self.own(tokens)[at])]
        found = []
        for term in self.terms:
            values = pair_up(
                *(
                    offsets(f, entries) if is_relative(f) else find_field(f, tokens)[at]
                    for f in term
                )
            )
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
