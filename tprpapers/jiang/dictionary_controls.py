"""Controls of probes where roles come from a dictionary: which roles heads take, random roles, quantized fillers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from tprprobe.analyses.probing.features import WEIGHTS, FeatureSource
from tprprobe.store import Store

FITTED_ROWS = 8192  # rows that a dictionary is fitted to


def make_vectors(store: Store, real: Sequence[FeatureSource], seed: int) -> Iterator[FeatureSource]:
    """For every sub-layer whose role weights are stored: ``indices`` (which role each head takes, one-hot),
    ``random_roles`` (the filler read by a random role head, jiang Eq. 4-5), ``quantized`` (the filler, as many codes).
    """
    stems = {vector.site.rpartition(".")[0] for vector in real}
    sites = [s for s in store.sites if s.endswith(WEIGHTS) and s.removesuffix(WEIGHTS) in stems]
    for weights in sites:
        stem = weights.removesuffix("role_weights")
        role, filler = f"{stem}role", f"{stem}filler"
        heads, n_roles = store.specs[weights].shape
        yield FeatureSource(role, None, heads * n_roles, (weights,), _indices, "indices")
        if filler in store.sites and role in store.sites:
            width = int(np.prod(store.specs[role].shape))
            rng = np.random.default_rng(seed)
            values = _flatten(store.read_finite(filler, slice(0, FITTED_ROWS)))
            head = _random_head(values, heads, n_roles, width // heads, rng)
            yield FeatureSource(role, None, width, (filler,), head, "random_roles")
            codes = _quantizer(values, heads, n_roles, seed)
            yield FeatureSource(role, None, values.shape[1], (filler,), codes, "quantized")


def _indices(weights: np.ndarray) -> np.ndarray:
    return _flatten(weights == weights.max(-1, keepdims=True))


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
        logits = (_flatten(filler) @ weight * scale).reshape(len(filler), heads, n_roles)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ roles

    return make


def _quantizer(
    values: np.ndarray, heads: int, n_codes: int, seed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Product quantization: every of ``heads`` parts of the filler by its nearest of n_codes."""
    blocks = np.array_split(np.arange(values.shape[1]), heads)
    n_codes = min(n_codes, len(values))
    models: list[Any] = [
        MiniBatchKMeans(n_codes, random_state=seed, max_iter=20).fit(values[:, block])
        for block in blocks
    ]

    def make(filler: np.ndarray) -> np.ndarray:
        flat = _flatten(filler)
        pairs = zip(models, blocks, strict=True)
        return np.concatenate([km.cluster_centers_[km.predict(flat[:, p])] for km, p in pairs], 1)

    return make


def _flatten(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), -1)
