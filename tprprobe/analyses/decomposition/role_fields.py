"""Fields of tokens that roles are made of: where a token stands, beside what, and what is known of it.

A field is a function of a table of tokens, one row a token, samples in one piece, with the columns
``sample`` and ``filler``; it gives one value a token. Columns of the table are fields, too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from tprprobe.analyses.decomposition.joining import join_smallest
from tprprobe.analyses.decomposition.unit_kinds import Entries
from tprprobe.errors import InputError, unknown

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
    return _neighbour(tokens, 1)


def after(tokens: pd.DataFrame) -> Values:
    """The filler after; ``#`` at the right end."""
    return _neighbour(tokens, -1)


def _neighbour(tokens: pd.DataFrame, step: int) -> Values:
    fillers, sample = tokens["filler"].to_numpy(object), tokens["sample"].to_numpy()
    beside, of = np.roll(fillers, step), np.roll(sample, step)
    beside[of != sample] = EDGE
    if len(beside):
        beside[0 if step > 0 else -1] = EDGE
    return beside


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


BUILT_IN: Mapping[str, Field] = MappingProxyType(
    {
        each.__name__: each
        for each in (bag, left, right, length, before, after, wickel, tree, expression, svo)
    }
)
NEEDS = {"expression": EXPRESSION, "svo": ("dep",)}  # columns that built-in fields read


def is_relative(name: str) -> bool:
    """True for ``offset``, the distance from the unit's token, and clipped ones: ``offset3``."""
    return re.fullmatch(r"offset\d*", name) is not None


def offsets(name: str, entries: Entries | None) -> Int[np.ndarray, " entry"]:
    """The distance of every entry's token from its unit's, clipped where the name says so.

    Raises:
        InputError: tokens without units.
    """
    if entries is None:
        raise InputError("offset is relative to a unit: give a place in the sample, such as left")
    most = name.removeprefix("offset")
    return np.clip(entries.offset, -int(most), int(most)) if most else entries.offset


def find_field(name: str, tokens: pd.DataFrame) -> Values:
    """The values of the built-in field or column of that name.

    Raises:
        InputError: there is neither, or a column that the field reads is missing.
    """
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
