"""Inputs of probes: vectors of sites, of heads, of several sites together, and their controls.

A vector is a function of what a store holds in one row of some sites, so that all of them stream.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32, Int
from sklearn.cluster import MiniBatchKMeans

from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

Codes = Int[np.ndarray, " _row"]
FITTED_ROWS = 8192  # rows that a dictionary is fitted to
DENSE = 0.25  # share of a stretch of rows above which the whole stretch is read


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

    def read(
        self, store: Store, rows: np.ndarray, words: Codes
    ) -> Float32[np.ndarray, "row width"]:
        """The vectors of some rows (rising); ``words`` are those before the rows' own words."""
        if not self.sites:
            return self.make(words[rows]).astype(np.float32)
        arrays = [read_rows(store, site, rows) for site in self.sites]
        return np.ascontiguousarray(self.make(*arrays), np.float32).reshape(len(rows), self.width)


def read_rows(store: Store, site: str, rows: np.ndarray) -> np.ndarray:
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


def previous_words(width: int) -> Vector:
    """The control ``previous``: a fixed random vector for the word before."""
    return Vector("previous word", None, width, (), partial(_embedded, width=width), "previous")


def _embedded(words: Codes, width: int) -> np.ndarray:
    kinds, index = np.unique(words, return_inverse=True)
    table = np.stack(
        [np.random.default_rng(int(kind) + 1).normal(size=width) for kind in kinds]
        or [np.zeros(width)]
    )
    return table[index] if len(words) else np.zeros((0, width))


def dictionary_controls(store: Store, sites: Sequence[str], seed: int) -> Iterator[Vector]:
    """The controls of a role dictionary, for every sub-layer whose role weights are given.

    ``random_roles``  the trained filler read by a random role head, softmax(F W + b) R
    ``quantised``     the trained filler by product quantisation, as many codes for as many heads
    ``indices``       nothing but which role each head takes, one-hot
    Source: jiang Eq. 4-5 for the head that the first one replaces.
    """
    for weights in sites:
        stem = weights.removesuffix("role_weights")
        heads, n_roles = store.specs[weights].shape
        width = heads * n_roles
        yield Vector(f"{stem}role", None, width, (weights,), _indices, "indices")
        if f"{stem}filler" in store.sites and f"{stem}role" in store.sites:
            filler, role = f"{stem}filler", f"{stem}role"
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
        codes = [
            km.cluster_centers_[km.predict(flat[:, p])] for km, p in zip(fitted, parts, strict=True)
        ]
        return np.concatenate(codes, axis=1)

    return make
