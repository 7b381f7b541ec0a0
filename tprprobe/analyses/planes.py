"""Places of vectors in the plane; UMAP, which takes minutes, is kept in the store."""

import contextlib
import hashlib

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.projections import Projection, project
from tprprobe.console import track
from tprprobe.errors import InputError
from tprprobe.files.writing import whole
from tprprobe.store import Store

FOLDER = "views"  # in the store
FAR, SMALL = 3, 0.4  # times the distance of the quartiles; a share of the plane
NEIGHBORS = 5_000  # rows that UMAP is fitted on


def place(store: Store, roles: Clusters, method: str = "pca", seed: int = 0) -> Projection:
    """The places of the clustered vectors, scaled as they were clustered."""
    scaled = _scale(roles, store.read(roles.site, None, roles.head))
    if method != "umap":
        return project(scaled, method, roles.labels, seed)
    return _kept(store, roles, scaled.astype(np.float32), seed)


def place_more(
    plane: Projection, roles: Clusters, vectors: Float[np.ndarray, "row ..."]
) -> Float32[np.ndarray, "row 2"]:
    """The places of more vectors of the same site on a plane's axes."""
    if plane.place is None or plane.method == "umap":
        raise InputError(f"{plane.method} cannot place new vectors: choose pca or linear")
    return plane.place(_scale(roles, vectors)).astype(np.float32)


def choose_view(points: Float[np.ndarray, "token 2"]) -> list[float]:
    """The part of the plane that is shown first, left, right, below, above: without what lies far from all else, as the
    enormous states do that language models have at their first token.
    """
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    far = FAR * (high - low)
    low, high = (low - far).clip(0), (high + far).clip(max=1)
    is_far = (high > low) & (high - low < SMALL)
    low, high = np.where(is_far, low, 0), np.where(is_far, high, 1)
    margin = 0.03 * (high - low)
    return np.stack([low - margin, high + margin], 1).ravel().tolist()


def _scale(roles: Clusters, vectors: np.ndarray) -> Float[np.ndarray, "row width"]:
    scaled = (vectors.reshape(len(vectors), -1) - roles.mean) / roles.scale
    if scaled.shape[1] < 2:
        scaled = np.concatenate([scaled, np.zeros_like(scaled)], 1)
    return scaled


def _kept(
    store: Store, roles: Clusters, vectors: Float32[np.ndarray, "token width"], seed: int
) -> Projection:
    """UMAP of the vectors: read from the store where it was computed before, else computed and kept.

    The file's name has what it depends on: site, head, scaling, seed and the vectors themselves.
    """
    digest = hashlib.sha256(vectors.tobytes()).hexdigest()[:16]
    head = "all" if roles.head is None else roles.head
    file = store.path / FOLDER / f"umap-{roles.site}-{head}-{seed}-{digest}.parquet"
    if file.is_file():
        kept = pd.read_parquet(file)
        points = kept[["x", "y"]].to_numpy(np.float32)
        nothing = (float("nan"), float("nan"))
        return Projection(points, "umap", ("UMAP 1", "UMAP 2"), nothing, kept["fitted"].to_numpy())
    chosen = np.zeros(len(vectors), bool)
    rng = np.random.default_rng(seed)
    chosen[rng.permutation(len(vectors))[:NEIGHBORS]] = True
    found = project(
        vectors, "umap", seed=seed, fit=chosen, progress=lambda each: track(each, "UMAP", len(each))
    )
    points = pd.DataFrame(found.points, columns=["x", "y"]).assign(fitted=found.fitted)
    with contextlib.suppress(InputError), whole(file) as begun:  # else computed again next time
        points.to_parquet(begun)
    return found
