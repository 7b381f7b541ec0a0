"""The choices that a store offers: sites with vectors, sites with maps, their heads; and the
defaults.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int32

from tprprobe.dashboard.attention import Maps, gold_pairs
from tprprobe.dashboard.sampling import take
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.selection import Mark
from tprprobe.dashboard.strips import find_marked
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store


def list_vectors(store: Store) -> list[str]:
    """The sites with vectors."""
    return [name for name, spec in store.specs.items() if not spec.is_attention]


def list_maps(store: Store) -> list[str]:
    """The sites with attention maps, of at least one sample."""
    return [name for name in store.specs if store.count_maps(name)]


def count_heads(store: Store, site: str) -> int:
    """The number of heads of a site, 0 for a site without heads."""
    return store.specs[site].heads or 0


def first_role(sites: Sequence[str]) -> int:
    """The index of the default site: the last layer's roles of the encoder."""
    return _last(sites, [("encoder.", "self.role"), ("", ".role"), ("", ".unbinding"), ("", "")])


def first_map(sites: Sequence[str]) -> int:
    """The index of the default maps: those of the last layer of the encoder."""
    return _last(sites, [("encoder.", "self.attention"), ("", "")])


def _last(sites: Sequence[str], wanted: Sequence[tuple[str, str]]) -> int:
    for start, end in wanted:
        found = [i for i, name in enumerate(sites) if name.startswith(start) and name.endswith(end)]
        if found:
            return max(found, key=lambda i: layer_of(sites[i]) or 0)
    return 0


def like(sites: Sequence[str], site: str) -> list[str]:
    """The sites that differ from one only in the layer."""
    layer = layer_of(site)
    parts = site.split(f".{layer}.")
    return [name for name in sites if name.split(f".{layer_of(name)}.") == parts]


def role_beside(store: Store, site: str) -> str | None:
    """The role site in the same layer as an attention site; None if the store has none."""
    role = site.replace(".attention", ".role")
    return role if role in store.sites else None


def label_queries(scene: Cloud, maps: Maps) -> Int32[np.ndarray, " query"]:
    """The role cluster of every query."""
    return scene.labels_of(take(scene.store, np.array([maps.sample])))


def find_queries(
    scene: Cloud, maps: Maps, clusters: Int32[np.ndarray, " query"], mark: Mark | None
) -> Bool[np.ndarray, " query"]:
    """The queries that are marked."""
    return find_marked(scene, mark, maps.queries.assign(cluster=clusters))


def first_queries(store: Store, maps: Maps, marked: Bool[np.ndarray, " query"] | None) -> list[int]:
    """The queries shown row by row: the marked ones, else digits of denominators, else one."""
    if marked is not None and marked.any():
        return np.flatnonzero(marked)[:6].tolist()
    below = [query for query, _ in gold_pairs(store, maps.sample)] if maps.is_self else []
    return below[:3] or [len(maps.queries) // 2]


def tokens_in(maps: Maps, x: Sequence[float], y: Sequence[float]) -> list[int]:
    """The queries inside a box of the map; of self-attention the keys, too."""
    columns, rows = np.arange(len(maps.keys)), np.arange(len(maps.queries))
    inside = rows[(rows >= min(y)) & (rows <= max(y))].tolist()
    if maps.is_self and max(y) < -0.5:
        return columns[(columns >= min(x)) & (columns <= max(x))].tolist()
    return inside


def find_head(store: Store, site: str, head: int) -> int | None:
    """The head of that number; the last one if there are fewer; None if there are none."""
    heads = count_heads(store, site)
    return min(head, heads - 1) if heads else None


def first_text(store: Store) -> str:
    """The text of the first sample, as far as the store has it."""
    tokens = store.tokens
    column = next((name for name in ("question", "source") if name in tokens), None)
    return "" if column is None or tokens.empty else str(tokens[column].iloc[0])
