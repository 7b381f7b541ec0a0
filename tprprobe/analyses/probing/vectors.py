"""Vectors that probes read: of sites, of heads, of several sites together, and of controls.

A vector is a function of what a store holds in one row of some sites, so that all of them stream.
"""

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32, Int
from sklearn.cluster import MiniBatchKMeans

from tprprobe.analyses.probing.labelled_words import Corpus
from tprprobe.analyses.probing.settings import SITES, ProbeSettings
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of, select, side_of
from tprprobe.store import Store
from tprprobe.store.layout import SIDES, TWINS

Codes = Int[np.ndarray, " _row"]
WEIGHTS = ".role_weights"
EMBEDDING, FIRST_INPUT = "*.embedding", "*.0.self.input"
FITTED_ROWS = 8192  # rows that a dictionary is fitted to
DENSE = 0.25  # share of a stretch of rows above which the whole stretch is read


def find_sites(store: Store, patterns: Sequence[str]) -> list[str]:
    """The sites of a store that patterns name; default patterns that match nothing are left out."""
    sites = store.select(_present(patterns, store.sites))
    return [site for site in sites if not store.specs[site].is_attention]


def needed_sites(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The sites, of all ``names`` of a model, that a store needs for probes and their controls."""
    weights = fnmatch.filter(names, f"*{WEIGHTS}")
    embedded = [site for side in SIDES if (site := _embedding(names, side))]
    return select([*_present(patterns, names), *weights, *embedded], names)


def _embedding(names: Iterable[str], side: str) -> str | None:
    """The site of what the first layer on a side reads, the same for a symbol in all contexts."""
    of_side = [name for name in names if side_of(name) == side]
    found = [*fnmatch.filter(of_side, EMBEDDING), *fnmatch.filter(of_side, FIRST_INPUT)]
    return next(iter(found), None)


def _present(patterns: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The patterns, without those default ones that match no name."""
    if tuple(patterns) != SITES:
        return patterns
    return [p for p in SITES if fnmatch.filter(names, p)] or ["*"]


def check_test(store: Store, test: Store, sites: Sequence[str], settings: ProbeSettings) -> None:
    """Refuses a test store on which probes of these sites of ``store`` cannot be tested."""
    for site in sites:
        if site not in test.sites or test.specs[site].shape != store.specs[site].shape:
            raise InputError(
                f"{test.path} has no {site} of the shape {store.specs[site].shape} to test on: extract both "
                "from models of one size"
            )
    _check_twins(test, settings)


def _check_twins(store: Store, settings: ProbeSettings) -> None:
    for kind in TWINS:
        if kind in (settings.controls or ()) and kind not in store.twins:
            raise InputError(f"{store.path} has no {kind} twin: leave out that control")


@dataclass(frozen=True, eq=False)
class Vector:
    """Vectors of ``width`` for every row: made of the rows of ``sites``, or of words where none."""

    site: str
    head: int | None
    width: int
    sites: tuple[str, ...]
    make: Callable[..., np.ndarray]
    control: str = "real"

    @property
    def layer(self) -> int | None:
        return layer_of(self.site)

    def store(self, store: Store) -> Store:
        """Where the vectors lie: in a store, or in that of a twin."""
        return store.twins.get(self.control, store)

    def read(self, corpus: Corpus, rows: np.ndarray) -> Float32[np.ndarray, "row width"]:
        """The vectors of some rows (rising) of a side of a store, or of its twin."""
        if not self.sites:
            return self.make(corpus.previous[rows]).astype(np.float32)
        store = self.store(corpus.store)
        arrays = [_read_rows(store, site, rows) for site in self.sites]
        return np.ascontiguousarray(self.make(*arrays), np.float32).reshape(len(rows), self.width)


def _read_rows(store: Store, site: str, rows: np.ndarray) -> np.ndarray:
    """Some rows of a site; where they lie dense, one stretch of the store is read."""
    if not len(rows):
        return store.read(site, slice(0, 0))
    first, stop = int(rows[0]), int(rows[-1]) + 1
    if len(rows) >= DENSE * (stop - first):
        return store.read_finite(site, slice(first, stop))[rows - first]
    return store.read_finite(site, rows)


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), -1)


def _head(array: np.ndarray, head: int) -> np.ndarray:
    return array[:, head]


def _joined(*arrays: np.ndarray) -> np.ndarray:
    return np.concatenate([_flat(array) for array in arrays], axis=1)


def site_vectors(store: Store, sites: Sequence[str], heads: bool) -> Iterator[Vector]:
    """The vectors of every site, its heads concatenated, or of each head."""
    for site in sites:
        spec = store.specs[site]
        width = int(np.prod(spec.shape))
        if heads and spec.heads is not None:
            for head in range(spec.shape[0]):
                yield Vector(site, head, width // spec.shape[0], (site,), partial(_head, head=head))
        else:
            yield Vector(site, None, width, (site,), _flat)


def joined_vectors(store: Store, sites: Sequence[str]) -> Iterator[Vector]:
    """Vectors of role and filler of the same sub-layer, side by side."""
    for role in (site for site in sites if site.endswith(".role")):
        filler = f"{role.removesuffix('role')}filler"
        if filler in sites:
            width = sum(int(np.prod(store.specs[site].shape)) for site in (role, filler))
            yield Vector(f"{role}+filler", None, width, (role, filler), _joined)


def control_vectors(
    store: Store, real: Sequence[Vector], test: Store | None, settings: ProbeSettings
) -> Iterator[Vector]:
    """The vectors of controls: of twins, the embeddings, the word before, a dictionary."""
    _check_twins(store, settings)
    for kind, twin in store.twins.items():
        if settings.has(kind) and (test is None or kind in test.twins):
            yield from (
                replace(vector, control=kind) for vector in real if vector.site in twin.sites
            )
    side = store.side(real[0].site)
    if settings.has("static") and (site := _embedding(store.sites, side)):
        (vector,) = site_vectors(store, [site], heads=False)
        yield replace(vector, control="static")
    elif settings.controls is not None and "static" in settings.controls:
        raise InputError(
            f"{store.path} has no input embeddings ({EMBEDDING} or {FIRST_INPUT}): extract them too, or "
            "leave out the control static"
        )
    if settings.has("previous"):
        width = max(vector.width for vector in real)
        yield Vector("previous word", None, width, (), partial(_embedded, width=width), "previous")
    if settings.has("dictionary") and not settings.heads:
        stems = {vector.site.rpartition(".")[0] for vector in real}
        sites = [s for s in store.sites if s.endswith(WEIGHTS) and s.removesuffix(WEIGHTS) in stems]
        yield from _dictionary_controls(store, sites, settings.seed)


def _embedded(words: Codes, width: int) -> np.ndarray:
    """A fixed random vector for every word."""
    kinds, index = np.unique(words, return_inverse=True)
    vectors = [np.random.default_rng(int(kind) + 1).normal(size=width) for kind in kinds]
    return np.array(vectors).reshape(len(kinds), width)[index]


def _dictionary_controls(store: Store, sites: Sequence[str], seed: int) -> Iterator[Vector]:
    """For every sub-layer whose role weights are stored: ``indices`` (which role each head takes, one-hot),
    ``random_roles`` (the filler read by a random role head, jiang Eq. 4-5), ``quantised`` (the filler, as many codes).
    """
    for weights in sites:
        stem = weights.removesuffix("role_weights")
        role, filler = f"{stem}role", f"{stem}filler"
        heads, n_roles = store.specs[weights].shape
        yield Vector(role, None, heads * n_roles, (weights,), _indices, "indices")
        if filler in store.sites and role in store.sites:
            width = int(np.prod(store.specs[role].shape))
            rng = np.random.default_rng(seed)
            values = _flat(store.read_finite(filler, slice(0, FITTED_ROWS)))
            head = _random_head(values, heads, n_roles, width // heads, rng)
            yield Vector(role, None, width, (filler,), head, "random_roles")
            codes = _quantiser(values, heads, n_roles, seed)
            yield Vector(role, None, values.shape[1], (filler,), codes, "quantised")


def _indices(weights: np.ndarray) -> np.ndarray:
    return _flat(weights == weights.max(-1, keepdims=True))


def _random_head(
    values: np.ndarray, heads: int, n_roles: int, width: int, rng: np.random.Generator
) -> Callable[[np.ndarray], np.ndarray]:
    """A role head of random weights, as sharp as one that decides: logits with deviation 4."""
    weight = rng.normal(size=(values.shape[1], heads * n_roles))
    deviation = (values @ weight).std(0)
    scale = 4 / np.where(deviation > 0, deviation, 1)  # of constant vectors none
    roles = rng.normal(size=(n_roles, width))
    roles /= np.linalg.norm(roles, axis=1, keepdims=True)

    def make(filler: np.ndarray) -> np.ndarray:
        logits = (_flat(filler) @ weight * scale).reshape(len(filler), heads, n_roles)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ roles

    return make


def _quantiser(
    values: np.ndarray, heads: int, n_codes: int, seed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Product quantisation: every of ``heads`` parts of the filler by its nearest of n_codes."""
    parts = np.array_split(np.arange(values.shape[1]), heads)
    n_codes = min(n_codes, len(values))
    fitted: list[Any] = [
        MiniBatchKMeans(n_codes, random_state=seed, max_iter=20).fit(values[:, part])
        for part in parts
    ]

    def make(filler: np.ndarray) -> np.ndarray:
        flat = _flat(filler)
        pairs = zip(fitted, parts, strict=True)
        return np.concatenate([km.cluster_centers_[km.predict(flat[:, p])] for km, p in pairs], 1)

    return make
