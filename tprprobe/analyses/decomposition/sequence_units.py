"""The vectors that are decomposed, what each is of, and the tokens that it may be made of: counts, or shares of a mean."""

import functools
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped
from scipy.sparse import csr_array, eye_array, tril

from tprprobe.analyses.decomposition.unit_vectors import UnitVectors
from tprprobe.analyses.naming.fields import list_exact, read_labels
from tprprobe.errors import InputError, unknown
from tprprobe.evaluation.splits import Provenance, count_documents, read_provenance
from tprprobe.gold import join
from tprprobe.gold.structure import COLUMNS
from tprprobe.site.patterns import is_causal
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES
from tprprobe.store.tokens import FIRST, LAST, MEAN, pool_spans, rows_of, starts_of

BLOCK_BYTES = 2**25
MIN_DOCUMENTS = 20
RARE, JOINED = 2, "<rare>"  # fillers that fewer documents have are joined, as this one
TOKEN = "token"
SELF, BEFORE, ALL, CONTEXT = SCOPES = ("self", "before", "all", "context")
UNITS = (TOKEN, SAMPLE, MEAN, FIRST, LAST)
OF_TOKENS = {
    SELF: "the vector of a token, explained by its filler and role",
    BEFORE: "the vector of a token, explained by counts of the tokens up to it",
    ALL: "the vector of a token, explained by counts of all tokens of its sample",
    CONTEXT: "the vector of a token, explained by its filler and role and by shares of the others",
}
OF_SAMPLES = {
    MEAN: "the mean of a sample's vectors, made of shares of its tokens",
    SAMPLE: "a sample's vector, made of counts of its tokens",
}

Tokens = Int[np.ndarray, " token"]
Fillers = Shaped[np.ndarray, " token"]


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

    def find_tokens(self, tokens: pd.DataFrame) -> Int[np.ndarray, " unit"] | None:
        """The token whose vector a unit has; None where it is of all tokens together."""
        if self.unit == TOKEN:
            return np.arange(len(tokens))
        return None if self.unit in (SAMPLE, MEAN) else rows_of(tokens, self.unit)

    def members(self, tokens: pd.DataFrame) -> list[csr_array]:
        """Which tokens a unit may be made of, part by part: counts, or shares that add up to 1."""
        sample = pd.factorize(tokens["sample"])[0]
        if self.unit == TOKEN:
            return members_of(sample, TOKEN, self.scope, self.looks_back)
        [by_sample] = members_of(sample, SAMPLE, SELF)
        if self.unit == MEAN:
            return [_as_shares(by_sample)]
        centers = self.find_tokens(tokens)
        if centers is not None and self.looks_back:
            by_sample.data[by_sample.indices > np.repeat(centers, np.diff(by_sample.indptr))] = 0
            by_sample.eliminate_zeros()
        return [by_sample]

    def check(self, roles: str, is_relative: list[bool]) -> None:
        """Raises an InputError where roles, term by term relative to a token or not, cannot distinguish the units."""
        scope, fault = self.scope if self.unit == TOKEN else None, ""
        if any(is_relative) and self.unit in (SAMPLE, MEAN):
            fault = "offset is relative to a token, but a vector is of all tokens of a sample: give left, right or another place in the sample"
        elif any(is_relative) and scope == SELF:
            further = f"{CONTEXT}, {BEFORE} or {ALL}"
            fault = f"with scope {SELF} the offset is always 0: give scope {further}"
        elif not all(is_relative) and scope == ALL:
            fault = (
                f"with scope {ALL} every token of a sample has the same sum of bindings, so it cannot distinguish "
                f"tokens: give scope {CONTEXT}, or the roles offset"
            )
        if fault:
            raise InputError(f"roles {roles}: {fault}")

    def __str__(self) -> str:
        if text := OF_TOKENS[self.scope] if self.unit == TOKEN else OF_SAMPLES.get(self.unit):
            return text
        token = {FIRST: "first token", LAST: "last token"}.get(self.unit, f"last {self.unit!r}")
        tokens = "the tokens up to it" if self.looks_back else "all tokens"
        return f"the vector of a sample's {token}, made of counts of {tokens}"


def read_kind(store: Store, site: str, unit: str | None = None, scope: str = SELF) -> UnitKind:
    """The kind of a site's units.

    ``unit`` is by default what the site has a vector of. The unit ``sample`` of a site of tokens is the
    vector of each sample's last token; a mark such as ``.`` that of the last token that reads so.
    """
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    if unit is not None and unit.isalpha() and unit not in UNITS:
        raise unknown("unit", unit, (*UNITS, "a mark such as ."))
    is_stored, pool = store.side(site) not in SIDES, store.pool or SAMPLE
    if is_stored and unit not in (None, SAMPLE, pool):
        raise InputError(
            f"{site} has one vector for every sample ({pool}): give the unit {pool}, not {unit}"
        )
    unit = pool if is_stored else LAST if unit == SAMPLE else unit or TOKEN
    if unit != TOKEN and scope != SELF:
        raise InputError(f"scope {scope} is of tokens, a vector is of a sample: leave scope out")
    looks_back = is_causal(site)
    if looks_back and scope == ALL:
        raise InputError(
            f"{site} looks back: a token's vector depends on no token after it: give scope {CONTEXT} or "
            f"{BEFORE}, not {ALL}"
        )
    return UnitKind(unit, scope, is_stored, looks_back)


def members_of(sample: Tokens, unit: str, scope: str, looks_back: bool = False) -> list[csr_array]:
    """Which tokens a unit is made of, part by part, by the scopes of ``OF_TOKENS``."""
    n = len(sample)
    by_sample = csr_array((np.ones(n), (sample, np.arange(n))))
    if unit != TOKEN:
        return [by_sample]
    itself = csr_array(eye_array(n, format="csr"))
    if scope == SELF:
        return [itself]
    members = csr_array(by_sample.T @ by_sample)
    if scope == BEFORE or looks_back:
        members = csr_array(tril(members, format="csr"))
    members.sort_indices()
    if scope != CONTEXT:
        return [members]
    context = csr_array(members - itself)
    context.eliminate_zeros()
    return [itself, _as_shares(context)]


def _as_shares(members: csr_array) -> csr_array:
    """The same, so that the members of a unit add up to 1."""
    sums = np.asarray(members.sum(1)).reshape(-1)
    return csr_array(members * (1 / np.maximum(1, sums))[:, None])


@dataclass(frozen=True, eq=False)
class Units:
    """Samples or tokens with a vector each.

    vectors  theirs
    tokens   one row a token: ``sample``, ``filler`` and what roles are made of
    kind     what a vector is of, and which tokens it may be made of
    fillers  of every token, those that are rare as one
    n_rare   how many different fillers are joined
    origin   their documents, which are never divided, and sequences (of the text, of fillers)
    """

    store: Store
    site: str
    vectors: UnitVectors
    tokens: pd.DataFrame
    kind: UnitKind
    fillers: Fillers
    n_rare: int
    origin: Provenance

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def groups(self) -> Int[np.ndarray, " unit"]:
        """The document of every unit."""
        return self.origin.documents

    @functools.cached_property
    def members(self) -> list[csr_array]:
        """Which tokens a unit may be made of, part by part."""
        return self.kind.members(self.tokens)

    @property
    def separate(self) -> "Units":
        """The same, every filler by itself."""
        return replace(self, fillers=self.tokens["filler"].to_numpy(object), n_rare=0)

    def __str__(self) -> str:
        parts = [str(self.kind)]
        if self.n_rare:
            parts += [
                f"{self.n_rare} rare fillers are joined: what sets them apart is unexplained in R², counted in shares of variance"
            ]
        return "; ".join(parts)


def read_units(
    store: Store,
    site: str,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = SELF,
    columns: Collection[str] = (),
    min_documents: int = MIN_DOCUMENTS,
    rare: int = RARE,
) -> Units:
    """The units of a site, with the ``columns`` that roles are made of.

    ``unit`` and ``scope`` are those of :func:`read_kind`. Fillers that fewer than ``rare`` documents
    have are joined: those of one document are never both fitted to and tested on.
    """
    name = select_one(store, site)
    kind = read_kind(store, name, unit, scope)
    tokens = _read_tokens(store, name, fillers, set(columns))
    origin = read_provenance(tokens, "filler")
    count_documents(origin.documents, min_documents, store.path)
    joined, n_rare = join_rare(tokens["filler"].to_numpy(object), origin.documents, rare)
    starts = starts_of(pd.factorize(tokens["sample"])[0])
    vectors = _read_vectors(store, name, kind, tokens, starts)
    origin = origin if kind.unit == TOKEN else origin.take(starts)
    return Units(store, name, vectors, tokens, kind, joined, n_rare, origin)


def select_one(store: Store, site: str) -> str:
    """The name of the one site of vectors, or an InputError."""
    [name, *further] = store.select(site)
    if further:
        raise InputError(f"{site!r} names {1 + len(further)} sites ({name}, …): give one of them")
    if store.specs[name].is_attention:
        raise InputError(f"{name} holds attention maps, only vectors can be decomposed")
    return name


def join_rare(fillers: Fillers, documents: Tokens, rare: int) -> tuple[Fillers, int]:
    """The fillers, those of fewer documents than ``rare`` as one (of two or more), and how many they are."""
    codes, names = pd.factorize(fillers)
    occurring = pd.DataFrame({"filler": codes, "document": documents}).drop_duplicates()
    is_rare = np.bincount(occurring["filler"], minlength=len(names)) < rare
    if (n_rare := int(is_rare.sum())) < 2:
        return fillers, 0
    return np.where(is_rare, JOINED, names.astype(object))[codes], n_rare


def _read_vectors(
    store: Store, site: str, kind: UnitKind, tokens: pd.DataFrame, starts: np.ndarray
) -> UnitVectors:
    """The vectors of a kind of units, all heads together; ``starts`` are the first tokens of samples."""
    rows, lengths = (np.arange(len(starts)) if kind.is_stored else kind.find_tokens(tokens)), None
    if rows is None:
        rows, lengths = starts, np.diff(starts, append=len(tokens))
    width = int(np.prod(store.specs[site].shape))
    longest = int(lengths.max()) if lengths is not None else 1
    step = max(1, BLOCK_BYTES // (8 * longest * width))
    read_block = functools.partial(_read_rows, store, site, rows, lengths)
    return UnitVectors(read_block, len(rows), width, step)


def _read_rows(
    store: Store, site: str, rows: np.ndarray, lengths: np.ndarray | None, units: slice
) -> np.ndarray:
    """The rows of some units where they lie, or means over the rows of this length that begin there."""
    start_rows = rows[units]
    if lengths is None:
        is_whole = len(rows) == rows[-1] + 1
        return store.read_finite(site, units if is_whole else start_rows)
    span = slice(int(start_rows[0]), int(start_rows[-1] + lengths[units][-1]))
    return pool_spans(store.read_finite(site, span), start_rows - span.start, MEAN)


def _read_tokens(store: Store, site: str, fillers: str, names: set[str]) -> pd.DataFrame:
    """The tokens that a site's vectors are of with fillers, and the labels and gold columns asked for."""
    tokens = store.sequences_of(site)
    side = str(tokens["side"].iloc[0]) if len(tokens) else SIDES[0]
    if fillers not in tokens:
        raise unknown("column of fillers", fillers, map(str, tokens))
    tokens = tokens.assign(filler=tokens[fillers].astype(str).to_numpy(object))
    if exact := names & set(list_exact(store)):
        labels = read_labels(store, side)
        tokens = tokens.assign(**{name: labels[name].to_numpy(object) for name in exact})
    if (names - {*tokens}) & set(COLUMNS) and side == SIDES[0] and store.has_questions:
        gold = join(tokens.drop(columns=[name for name in COLUMNS if name in tokens]))
        added = [name for name in COLUMNS if name not in tokens]  # a store may have some itself
        tokens = tokens.assign(**{name: gold[name].to_numpy(object) for name in added})
    return tokens
