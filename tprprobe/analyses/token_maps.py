"""Maps of tokens: the vectors of one head, their clusters, names and places in the plane."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32, Int32, Integer

from tprprobe.analyses.clustering import Clusters, cluster
from tprprobe.analyses.naming import name_roles
from tprprobe.analyses.naming.fields import (
    CLUSTER,
    NONE,
    OTHER,
    build_places,
    list_fields,
    read_field,
)
from tprprobe.analyses.naming.names import name_clusters, read_structure
from tprprobe.analyses.projections import Projection, place, place_more
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import build_lattice, join_lattices
from tprprobe.evaluation.splits import read_provenance
from tprprobe.gold.labels import WORD
from tprprobe.site.labels import site_label
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.samples import Thinned, count_drawn, take, thin

MOST_NUMBERS = 100_000_000  # of all vectors of a site that are read to draw every token
BLOCK = 65_536  # vectors that are read at a time
PLACES = ("position", "word", "last_word", "document", "module")  # columns: where a token stands


@dataclass(frozen=True, eq=False)
class Cloud:
    """The drawn vectors of a head: ``drawn`` is the store or a part of it, ``rows`` are its rows in the store."""

    store: Store
    drawn: Store
    roles: Clusters
    plane: Projection
    tokens: pd.DataFrame
    rows: Integer[np.ndarray, " token"]
    left_out: int  # samples with vectors that are not finite
    whole: "Cloud | None" = None  # of a slice: what it was taken of

    def __repr__(self) -> str:
        return f"Cloud({len(self.rows):,} vectors of {self.place} in {self.roles.k} clusters)"

    @property
    def points(self) -> Float32[np.ndarray, "token 2"]:
        return self.plane.points

    @property
    def side(self) -> str:
        return self.store.side(self.roles.site)

    @property
    def place(self) -> str:
        """Site and head in words."""
        return site_label(self.roles.site, self.roles.head)

    @property
    def note(self) -> str:
        """A note on how much of the store is drawn; empty if all of it is."""
        total = self.store.facts.lengths.get(self.side, 0)
        n_drawn, notes = len(self.rows), []
        if self.whole is not None:
            notes = [f"a slice: {n_drawn:,} of {len(self.whole.rows):,} tokens", self.whole.note]
            return " · ".join(filter(None, notes))
        if n_drawn < total:
            notes.append(f"{n_drawn:,} of {total:,} tokens, whole samples drawn at random")
        n_fitted = int(self.plane.fitted.sum())
        if n_fitted < n_drawn and self.plane.method != "umap":
            notes.append(f"clusters and axes are those of {n_fitted:,} tokens")
        if self.left_out:
            notes.append(f"{self.left_out} samples with vectors that are not finite are left out")
        return " · ".join(notes)

    @functools.cached_property
    def gold(self) -> pd.DataFrame | None:
        """The gold structure of the drawn tokens in words; None for data without exact structure."""
        return _known(lambda: read_structure(self.drawn, self.side).described)

    @functools.cached_property
    def names(self) -> pd.DataFrame | None:
        """The names of the clusters, scored held out, those of ``tprprobe name``; of data without exact structure, from any column."""
        exact = None if self.gold is None else _known(lambda: name_roles(self.drawn, self.roles))
        return _known(self._name_by_columns) if exact is None else exact

    @functools.cached_property
    def baseline(self) -> "Cloud | None":
        """The same tokens in the store's baseline model, clustered in the same way; None if there is no baseline model."""
        roles = self.roles
        twin = next((t for t in self.store.twins.values() if roles.site in t.specs), None)
        if twin is None:
            return None
        sample = take(twin, self.drawn.sample_ids) if isinstance(self.drawn, Thinned) else twin
        settings = {name: getattr(roles, name) for name in ("head", "k", "seed", "raw", "n_seeds")}
        try:
            return replace(
                self, store=twin, drawn=sample, roles=cluster(sample, roles.site, **settings)
            )
        except InputError:  # vectors that are not finite, or too few that differ
            return None

    @property
    def is_compared(self) -> bool:
        """Whether the baseline model's clusters are known, or there is none."""
        return "baseline" in vars(self) or not self.store.twins

    def _name_by_columns(self) -> pd.DataFrame:
        """Names that are a value of a column, such as ``pos NN``."""
        fields = [field for field in list_fields(self.tokens, self.gold) if field not in PLACES]
        values_by_field = {field.removeprefix("gold "): self.read_field(field) for field in fields}
        values = {n: (f"{n} " + v).mask(v.isin([NONE, OTHER])) for n, v in values_by_field.items()}
        described = pd.DataFrame(values).dropna(axis=1, how="all").astype("category")
        lattice = build_lattice(described, longest=1) if len(described.columns) else None
        if lattice is None or not lattice.names:
            raise InputError("no columns to name clusters by")
        if self.side != SAMPLE:
            lattice = join_lattices(lattice, build_places(self.tokens))
        origin = read_provenance(self.tokens.reset_index(drop=True))
        groups = origin.documents, 0, origin.sequences
        return name_clusters(self.roles.labels, lattice, *groups)

    def list_fields(self) -> list[str]:
        """The fields by which the tokens can be colored; the first is the cluster."""
        return [CLUSTER, *list_fields(self.tokens, self.gold)]

    def read_field(self, name: str) -> pd.Series:
        """The values of a field, one per token, as texts."""
        if self.whole is not None:
            in_slice = np.isin(self.whole.rows, self.rows)
            return self.whole.read_field(name)[in_slice].reset_index(drop=True)
        if name == CLUSTER:
            return pd.Series(self.roles.labels.astype(str))
        return read_field(self.tokens, self.gold, name)

    def of(self, samples: list[int]) -> tuple[Thinned, Clusters]:
        """The part of the store with some samples, and their vectors' nearest clusters; −1 of what is not finite."""
        store = take(self.store, np.array(samples))
        labels = assign(self.roles, read_vectors(store, self.roles.site, self.roles.head))
        return store, replace(self.roles, labels=labels)

    def label(self, samples: pd.Series) -> pd.DataFrame:
        """The cluster of every token of some samples, drawn or not: sample, position, token, word (where the store has words), cluster."""
        store, roles = self.of(samples.tolist())
        columns = store.tokens.columns.intersection(["sample", "position", "token", WORD])
        tokens = store.tokens_of(roles.site)[columns].assign(cluster=roles.labels)
        return tokens[tokens["cluster"] >= 0]


def _known(find: Callable[[], pd.DataFrame]) -> pd.DataFrame | None:
    try:
        return find()
    except InputError:
        return None


def build_scene(
    store: Store,
    site: str,
    head: int | None = None,
    k: int = 20,
    method: str = "pca",
    raw: bool = False,
    seed: int = 0,
    most: int | None = None,
) -> Cloud:
    """The scene of a site: tokens with their clusters and their places on a plane.

    Args:
        store: The store.
        site: A site of vectors; layer -1 is the last.
        head: One head; default: all heads.
        k: The number of clusters; lowered to the number of vectors.
        method: The projection to the plane: ``pca``, or ``umap``.
        raw: Whether dimensions are not standardized.
        seed: Seed of random choices.
        most: The most tokens that are drawn; of larger stores, whole samples are drawn at random.

    Returns:
        The scene, for :func:`show_map` and :func:`show_strips`.

    A larger store is thinned to ``most`` vectors (default: N_DRAWN, of wide vectors fewer), whole samples drawn at random.

    Raises:
        InputError: No such site or head, attention maps, no finite vectors, or fewer distinct vectors than k.

    Examples:
        >>> tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3).roles.k
        3
    """
    thinned = thin(store, store.select(site)[0], most or count_drawn(store, site), seed)
    vectors = read_vectors(thinned, site, head)
    finite_store, left_out = _finite(thinned, site, np.asarray(np.isfinite(vectors).all(1)))
    rows = finite_store.rows(site) if isinstance(finite_store, Thinned) else np.arange(len(vectors))
    roles = cluster(finite_store, site, head, min(k, len(rows)), seed, raw)
    plane = place(finite_store, roles, method, seed)
    tokens = finite_store.tokens_of(roles.site)
    return Cloud(store, finite_store, roles, plane, tokens, rows, left_out)


def fill(scene: Cloud, max_numbers: int = MOST_NUMBERS) -> Cloud:
    """The scene with every token of the store: those that were left out get their nearest cluster, and a place on the same axes.
    The scene itself, if it is whole, of UMAP, or the vectors are more than ``max_numbers`` numbers.
    """
    store, roles = scene.store, scene.roles
    total = store.facts.lengths.get(scene.side, 0)
    is_large = total * roles.centers.shape[1] > max_numbers
    if len(scene.rows) == total or scene.plane.method == "umap" or is_large:
        return scene
    labels, points = np.full(total, -1, np.int32), np.zeros((total, 2), np.float32)
    for start in range(0, total, BLOCK):
        rows = slice(start, min(start + BLOCK, total))
        vectors = read_vectors(store, roles.site, roles.head, rows)
        labels[rows] = assign(roles, vectors)
        is_finite = labels[rows] >= 0
        points[rows][is_finite] = place_more(scene.plane, roles, vectors[is_finite])
    rows_kept = np.flatnonzero(labels >= 0)
    tokens = store.tokens_of(roles.site).iloc[rows_kept].reset_index(drop=True)
    is_fitted = np.isin(rows_kept, scene.rows[scene.plane.fitted])
    plane = replace(scene.plane, points=points[rows_kept], fitted=is_fitted)
    roles = replace(roles, labels=labels[rows_kept])
    return replace(scene, roles=roles, plane=plane, tokens=tokens, rows=rows_kept)


def assign(roles: Clusters, vectors: Float32[np.ndarray, "row width"]) -> Int32[np.ndarray, " row"]:
    """The nearest cluster of every vector; −1 for a vector that is not finite."""
    labels, is_finite = np.full(len(vectors), -1, np.int32), np.isfinite(vectors).all(1)
    if is_finite.any():
        labels[is_finite] = roles.assign(vectors[is_finite])
    return labels


def read_vectors(
    store: Store, site: str, head: int | None, rows: slice | None = None
) -> Float32[np.ndarray, "row width"]:
    """The vectors of one head of a site, a row each."""
    vectors = store.read(site, rows, head)
    width = int(np.prod(vectors.shape[1:]))
    return vectors.reshape(len(vectors), width).astype(np.float32)


def _finite(store: Store, site: str, is_finite: Bool[np.ndarray, " token"]) -> tuple[Store, int]:
    if is_finite.all():
        return store, 0
    samples = store.tokens_of(site)["sample"].to_numpy()
    bad = np.unique(samples[~is_finite])
    good = np.setdiff1d(samples, bad)
    if not len(good):
        raise InputError(f"every sample of {store.path} has vectors of {site} that are not finite")
    complete_store = store.full_store if isinstance(store, Thinned) else store
    return take(complete_store, good), len(bad)
