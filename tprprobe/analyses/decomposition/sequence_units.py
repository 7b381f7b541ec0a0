"""The vectors that are decomposed, and the tokens that each of them may be a sum of."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.sparse import csr_array, eye_array

from tprprobe.analyses.decomposition.role_fields import spans_of
from tprprobe.analyses.naming.word_labels import list_exact, read_labels
from tprprobe.errors import InputError, unknown
from tprprobe.gold import join
from tprprobe.gold.expressions import COLUMNS
from tprprobe.store import Store
from tprprobe.store.dask_workers import PART, parts_of
from tprprobe.store.layout import SIDES

UNITS, SCOPES = ("sample", "token"), ("self", "before", "all")
BLOCK_BYTES = 2**25
FEWEST = 20


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
    members  which tokens a unit may be a sum of
    groups   the document or the sequence of fillers that it is of, which is never divided
    """

    vectors: UnitVectors
    tokens: pd.DataFrame
    members: csr_array
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
    groups, rows = _groups(tokens), np.arange(len(tokens))
    if unit == "sample":
        groups, rows = groups[last], last if side in SIDES else np.arange(len(last))
    step = max(1, BLOCK_BYTES // (8 * int(np.prod(store.specs[name].shape))))
    vectors = UnitVectors(store, name, rows, step)
    found = Units(vectors, tokens, members_of(sample, unit, scope), groups)
    if (n := len(np.unique(found.groups))) < fewest:
        raise InputError(f"{store.path} has {n} different sequences: extract {fewest} or more")
    return found


def members_of(sample: Int[np.ndarray, " token"], unit: str, scope: str) -> csr_array:
    """Which tokens a unit is made of: all of a sample; or, of a token, itself, those up to it, or all
    of its sample.
    """
    at = np.arange(len(sample))
    if unit == "sample":
        return csr_array((np.ones(len(sample)), (sample, at)))
    if scope == "self":
        return csr_array(eye_array(len(sample), format="csr"))
    starts = np.flatnonzero(np.append(True, sample[1:] != sample[:-1]))
    ends = np.append(starts[1:], len(sample))[sample]
    counts = (at + 1 if scope == "before" else ends) - starts[sample]
    offsets = np.append(0, np.cumsum(counts))
    members = np.arange(offsets[-1]) + np.repeat(starts[sample] - offsets[:-1], counts)
    shape = (len(sample), len(sample))
    return csr_array((np.ones(len(members)), members, offsets), shape)


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


def _groups(tokens: pd.DataFrame) -> Int[np.ndarray, " token"]:
    """The document of every token, or its sequence: the same sequence read twice counts as one."""
    if "document" in tokens:
        return pd.factorize(tokens["document"])[0]
    codes, known = pd.factorize(tokens["filler"])[0], {}
    spans = spans_of(tokens)
    group = [known.setdefault(codes[span].tobytes(), len(known)) for span in spans]
    return np.repeat(group, [span.stop - span.start for span in spans])
