"""The vectors that are decomposed, and the tokens that each of them may be a sum of."""

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.unit_kinds import TOKEN, UnitKind, read_kind
from tprprobe.analyses.naming.fields import list_exact, read_labels
from tprprobe.errors import InputError, unknown
from tprprobe.gold import join
from tprprobe.gold.expressions import COLUMNS
from tprprobe.store import Store
from tprprobe.store.dask_workers import PART, parts_of
from tprprobe.store.groups import group_tokens
from tprprobe.store.layout import SIDES
from tprprobe.store.tokens import MEAN, pool_spans, starts_of

BLOCK_BYTES = 2**25
FEWEST = 20
RARE, JOINED = 2, "<rare>"  # fillers that fewer groups have are joined, as this one


Block = tuple[slice, Float[np.ndarray, "unit d_model"]]  # units, and their vectors


@runtime_checkable
class VectorBlocks(Protocol):
    """Vectors that are read block by block, as often as is asked for, in parts that workers may share."""

    @property
    def width(self) -> int: ...
    def parts(self) -> list[slice]: ...
    def blocks(self, part: slice = slice(None)) -> Iterator[Block]: ...


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """Rows of a site where they lie, read ``step`` units at a time, or means of ``spans`` of rows."""

    store: Store
    site: str
    rows: Int[np.ndarray, " unit"]
    step: int
    spans: Int[np.ndarray, " unit"] | None

    @property
    def width(self) -> int:
        """Numbers of a vector, all heads together."""
        return int(np.prod(self.store.specs[self.site].shape))

    def parts(self) -> list[slice]:
        """The units in parts of whole blocks, over which workers may be spread."""
        return parts_of(len(self.rows), self.step * max(1, PART // self.step))

    def blocks(self, part: slice = slice(None)) -> Iterator[Block]:
        """All vectors (of a part) in blocks, each with the units that it is of."""
        first, last, _ = part.indices(len(self.rows))
        for start in range(first, last, self.step):
            units = slice(start, min(start + self.step, last))
            vectors = self._read(units)
            yield units, vectors.reshape(len(vectors), -1).astype(np.float64)

    def _read(self, units: slice) -> np.ndarray:
        rows = self.rows[units]
        if self.spans is None:
            whole = len(self.rows) == self.rows[-1] + 1
            return self.store.read_finite(self.site, units if whole else rows)
        end = int(rows[-1] + self.spans[units][-1])
        values = self.store.read_finite(self.site, slice(int(rows[0]), end))
        return pool_spans(values, rows - rows[0], MEAN)


@dataclass(frozen=True, eq=False)
class Units:
    """Samples or tokens with a vector each.

    vectors  theirs
    tokens   one row a token: ``sample``, ``filler`` and what roles are made of
    kind     what a vector is of, and which tokens it may be made of
    fillers  of every token, those that are rare as one
    rare     how many different fillers are joined
    groups   of documents and sequences of fillers (``group_tokens``), which are never divided
    """

    vectors: UnitVectors
    tokens: pd.DataFrame
    kind: UnitKind
    fillers: Shaped[np.ndarray, " token"]
    rare: int
    groups: Int[np.ndarray, " unit"]

    def __len__(self) -> int:
        return len(self.groups)

    @functools.cached_property
    def members(self) -> list[csr_array]:
        """Which tokens a unit may be made of, part by part."""
        return self.kind.members(self.tokens)

    @property
    def store(self) -> Store:
        return self.vectors.store

    @property
    def site(self) -> str:
        return self.vectors.site

    def __str__(self) -> str:
        """What a vector is of, what it is made of, and what is joined."""
        joined = f"; {self.rare} rare fillers are joined" if self.rare else ""
        return f"{self.kind}{joined}"


def read_units(
    store: Store,
    site: str,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    columns: Collection[str] = (),
    fewest: int = FEWEST,
    rare: int = RARE,
) -> Units:
    """The units of a site, with the ``columns`` that roles are made of.

    ``unit`` and ``scope`` are those of :func:`read_kind`. Fillers that fewer than ``rare`` groups of
    sequences have are joined: those of one group are never both fitted to and tested on.

    Raises:
        InputError: no such site, column, unit or scope, attention maps, or too few groups.
    """
    name = select_one(store, site)
    kind = read_kind(store, name, unit, scope)
    tokens = _read_tokens(store, name, fillers, columns)
    of_token = group_tokens(tokens, "filler")
    joined, n_rare = join_rare(tokens["filler"].to_numpy(object), of_token, rare)
    first = starts_of(pd.factorize(tokens["sample"])[0])
    vectors = _vectors(store, name, kind, tokens, first)
    groups = of_token if kind.unit == TOKEN else of_token[first]
    if (n := len(np.unique(groups))) < fewest:
        raise InputError(f"{store.path} has {n} different sequences: extract {fewest} or more")
    return Units(vectors, tokens, kind, joined, n_rare, groups)


def select_one(store: Store, site: str) -> str:
    """The name of the one site of vectors, or an InputError."""
    [name, *more] = store.select(site)
    if more:
        raise InputError(f"{site!r} names {1 + len(more)} sites ({name}, …): give one of them")
    if store.specs[name].is_attention:
        raise InputError(f"{name} holds attention maps, only vectors can be decomposed")
    return name


def join_rare(
    fillers: Shaped[np.ndarray, " token"], groups: Int[np.ndarray, " token"], rare: int
) -> tuple[Shaped[np.ndarray, " token"], int]:
    """The fillers, those of fewer groups than ``rare`` as one (of two or more), and how many they are."""
    codes, names = pd.factorize(fillers)
    of_group = pd.DataFrame({"filler": codes, "group": groups}).drop_duplicates()
    is_rare = np.bincount(of_group["filler"], minlength=len(names)) < rare
    if (n := int(is_rare.sum())) < 2:
        return fillers, 0
    return np.where(is_rare, JOINED, names.astype(object))[codes], n


def _vectors(
    store: Store, site: str, kind: UnitKind, tokens: pd.DataFrame, first: np.ndarray
) -> UnitVectors:
    """The vectors of a kind of units; ``first`` are the first tokens of samples."""
    rows, spans = (np.arange(len(first)) if kind.is_stored else kind.places(tokens)), None
    if rows is None:
        rows, spans = first, np.diff(first, append=len(tokens))
    longest = int(spans.max()) if spans is not None else 1
    step = max(1, BLOCK_BYTES // (8 * longest * int(np.prod(store.specs[site].shape))))
    return UnitVectors(store, site, rows, step, spans)


def _read_tokens(store: Store, site: str, fillers: str, columns: Collection[str]) -> pd.DataFrame:
    """The tokens that a site's vectors are of with fillers, and the labels and gold columns asked for."""
    tokens = store.sequences_of(site)
    side = str(tokens["side"].iloc[0]) if len(tokens) else SIDES[0]
    if fillers not in tokens:
        raise unknown("column of fillers", fillers, map(str, tokens))
    tokens = tokens.assign(filler=tokens[fillers].astype(str).to_numpy(object))
    wanted = set(columns)
    exact = wanted & set(list_exact(store))
    if exact:
        labels = read_labels(store, side)
        tokens = tokens.assign(**{name: labels[name].to_numpy(object) for name in exact})
    if (wanted - {*tokens}) & set(COLUMNS) and side == SIDES[0] and store.has_questions:
        held = [name for name in COLUMNS if name in tokens]  # which a store may have itself
        gold = join(tokens.drop(columns=held))
        new = [name for name in COLUMNS if name not in held]
        tokens = tokens.assign(**{name: gold[name].to_numpy(object) for name in new})
    return tokens
