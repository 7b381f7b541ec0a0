"""The vectors that are decomposed, and the tokens that each of them may be a sum of."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.sparse import csr_array, eye_array

from tprprobe.analyses.naming.word_labels import list_exact, read_labels
from tprprobe.errors import InputError, unknown
from tprprobe.gold import join
from tprprobe.gold.expressions import COLUMNS
from tprprobe.store import Store
from tprprobe.store.dask_workers import PART, parts_of
from tprprobe.store.groups import group_tokens
from tprprobe.store.layout import SIDES

UNITS, SCOPES = ("sample", "token"), ("self", "before", "all", "context")
BLOCK_BYTES = 2**25
FEWEST = 20


@runtime_checkable
class VectorBlocks(Protocol):
    """Vectors that are read block by block, as often as is asked for."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        ...

    def parts(self) -> list[slice]:
        """The units in parts, over which workers may be spread."""
        ...

    def blocks(
        self, part: slice = slice(None)
    ) -> Iterator[tuple[slice, Float[np.ndarray, "unit d_model"]]]:
        """All vectors (of a part) in blocks, with the units that each block is of."""
        ...


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """The vectors of units in a store: the rows of a site where they lie, read ``step`` at a time."""

    store: Store
    site: str
    rows: Int[np.ndarray, " unit"]
    step: int

    @property
    def width(self) -> int:
        """Numbers of a vector, all heads together."""
        return int(np.prod(self.store.specs[self.site].shape))

    def parts(self) -> list[slice]:
        """The units in parts of whole blocks, over which workers may be spread."""
        return parts_of(len(self.rows), self.step * max(1, PART // self.step))

    def blocks(
        self, part: slice = slice(None)
    ) -> Iterator[tuple[slice, Float[np.ndarray, "unit d_model"]]]:
        """All vectors (of a part) in blocks, each with the units that it is of."""
        first, last, _ = part.indices(len(self.rows))
        whole = len(self.rows) == self.rows[-1] + 1
        for start in range(first, last, self.step):
            units = slice(start, min(start + self.step, last))
            rows = units if whole else self.rows[units]
            vectors = self.store.read_finite(self.site, rows)
            yield units, vectors.reshape(len(vectors), -1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Units:
    """Samples or tokens with a vector each.

    vectors  theirs
    tokens   one row a token: ``sample``, ``filler`` and what roles are made of
    members  which tokens a unit may be a sum of, part by part: of the scope context itself, then the others
    groups   of documents and sequences of fillers (``group_tokens``), which are never divided
    """

    vectors: UnitVectors
    tokens: pd.DataFrame
    members: list[csr_array]
    groups: Int[np.ndarray, " unit"]

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def store(self) -> Store:
        return self.vectors.store

    @property
    def site(self) -> str:
        return self.vectors.site

    @property
    def width(self) -> int:
        """Numbers of a vector, all heads together."""
        return self.vectors.width


def read_units(
    store: Store,
    site: str,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    columns: Collection[str] = (),
    fewest: int = FEWEST,
) -> Units:
    """The units of a site, with the ``columns`` that roles are made of.

    ``unit`` is by default what the site has a vector of. The unit ``sample`` of a site of tokens is
    the vector of each sample's last token, made of all its tokens; that of a ``token`` is made of
    itself, of the tokens up to it (``before``), or of all of its sample, as ``scope`` says.

    Raises:
        InputError: no such site, column, unit or scope, attention maps, or too few groups.
    """
    [name, *more] = store.select(site)
    if more:
        raise InputError(f"{site!r} names {1 + len(more)} sites ({name}, …): give one of them")
    if store.specs[name].is_attention:
        raise InputError(f"{name} holds attention maps, only vectors can be decomposed")
    side = store.side(name)
    unit = unit or ("token" if side in SIDES else "sample")
    for kind, given, accepted in (("unit", unit, UNITS), ("scope", scope, SCOPES)):
        if given not in accepted:
            raise unknown(kind, given, accepted)
    if side not in SIDES and unit == "token":
        raise InputError(f"{name} has one vector a sample: give the unit sample, not token")
    tokens = _read_tokens(store, side if side in SIDES else SIDES[0], fillers, columns)
    sample = pd.factorize(tokens["sample"])[0]
    last = np.flatnonzero(np.append(sample[1:] != sample[:-1], True))
    groups, rows = group_tokens(tokens, "filler"), np.arange(len(tokens))
    if unit == "sample":
        groups, rows = groups[last], last if side in SIDES else np.arange(len(last))
    step = max(1, BLOCK_BYTES // (8 * int(np.prod(store.specs[name].shape))))
    vectors = UnitVectors(store, name, rows, step)
    found = Units(vectors, tokens, members_of(sample, unit, scope), groups)
    if (n := len(np.unique(found.groups))) < fewest:
        raise InputError(f"{store.path} has {n} different sequences: extract {fewest} or more")
    return found


def members_of(sample: Int[np.ndarray, " token"], unit: str, scope: str) -> list[csr_array]:
    """Which tokens a unit is made of, part by part: all of a sample; or, of a token, itself, those up to
    it, all of its sample, or itself and then the mean of the others.
    """
    n, at = len(sample), np.arange(len(sample))
    if unit == "sample":
        return [csr_array((np.ones(n), (sample, at)))]
    itself = csr_array(eye_array(n, format="csr"))
    if scope == "self":
        return [itself]
    starts = np.flatnonzero(np.append(True, sample[1:] != sample[:-1]))
    ends = np.append(starts[1:], n)[sample]
    counts = (at + 1 if scope == "before" else ends) - starts[sample]
    offsets = np.append(0, np.cumsum(counts))
    members = np.arange(offsets[-1]) + np.repeat(starts[sample] - offsets[:-1], counts)
    found = csr_array((np.ones(len(members)), members, offsets), (n, n))
    if scope != "context":
        return [found]
    others = csr_array(found - itself)
    others.eliminate_zeros()
    shares = 1 / np.maximum(1, np.asarray(others.sum(1)).reshape(-1))
    return [itself, csr_array(others * shares[:, None])]


def _read_tokens(store: Store, side: str, fillers: str, columns: Collection[str]) -> pd.DataFrame:
    """The tokens of a side with fillers, and the labels and gold columns that are asked for."""
    table = store.tokens
    tokens = table.loc[table["side"] == side].reset_index(drop=True)
    if fillers not in tokens:
        raise unknown("column of fillers", fillers, map(str, tokens))
    tokens = tokens.assign(filler=tokens[fillers].astype(str).to_numpy(object))
    wanted = set(columns)
    exact = wanted & set(list_exact(store))
    if exact:
        labels = read_labels(store, side)
        tokens = tokens.assign(**{name: labels[name].to_numpy(object) for name in exact})
    if (wanted - {*tokens}) & set(COLUMNS) and side == SIDES[0] and store.has_questions:
        gold = join(tokens)
        tokens = tokens.assign(**{name: gold[name].to_numpy(object) for name in COLUMNS})
    return tokens
