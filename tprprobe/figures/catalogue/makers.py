"""What makes the figures, by name; a paper's figure is one of them with its settings."""

import fnmatch
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tprprobe.analyses.clustering import Clusters, cluster
from tprprobe.analyses.kinds import CLUSTERS, RECONSTRUCTION
from tprprobe.analyses.naming.name_counts import find_most_named
from tprprobe.analyses.naming.names import name_roles
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.errors import InputError, unknown
from tprprobe.figures import role_fits
from tprprobe.figures.accuracy import module_bars
from tprprobe.figures.attention import map_squares, row_strips
from tprprobe.figures.behavior import behavior_scene
from tprprobe.figures.catalogue.inputs import Input, Maker
from tprprobe.figures.cluster_labels import label_named
from tprprobe.figures.clusters import cluster_strips
from tprprobe.figures.curves import learning_scene
from tprprobe.figures.heads import heads_table, place_squares, relation_squares
from tprprobe.figures.naming import tabulate_names
from tprprobe.figures.patching import patching_squares
from tprprobe.figures.probes import ProbeTable, probe_table
from tprprobe.figures.reconstruction import reconstruction_scene, reconstruction_table
from tprprobe.figures.scenes import Grid, Squares
from tprprobe.figures.state_shares import share_bars
from tprprobe.figures.strips import Strips
from tprprobe.figures.sweeps import ablation_map, snap_curve
from tprprobe.figures.tables import Table
from tprprobe.files.jsonfiles import read_json
from tprprobe.site.patterns import first_role, layer_of
from tprprobe.store import Store
from tprprobe.store.reader import Source, as_store

NAMELESS = pd.DataFrame({"cluster": [], "name": [], "coverage": [], "precision": []})


def draw_roles(
    store: Store,
    layer: int = -1,
    head: int | None = None,
    k: int | None = None,
    seed: int = 0,
    raw: bool = False,
    every: bool = False,
    site: str = "",
    names: bool = True,
    n_rows: int | None = None,
) -> Strips:
    """Clusters of a layer's roles (where there are none, of its output), or of another ``site``, under the symbols that have them.

    Numerators and denominators are framed by their value, where the questions are arithmetic. Of
    questions that were answered right, unless ``every`` question is meant. With ``names`` the legend names clusters by the
    labels of words or the structure of arithmetic, where a name holds. Without ``k`` as many as ``examine`` made, else 20. Bars are the clusters of the baseline model.
    Without a ``head`` that with most tokens in named clusters (without ``names`` the first). ``n_rows`` texts; default: those that show every cluster and fit the figure.
    """
    if not site:
        vectors = [name for name, spec in store.specs.items() if not spec.is_attention]
        role = vectors[first_role(vectors)]
        site = role.replace(f".{layer_of(role)}.", f".{layer}.", 1)
    site = store.select(site)[0]
    k = k or _count_clusters(store, site)
    n_heads = store.specs[site].heads
    heads = [None] if n_heads is None else [head] if head is not None else [*range(n_heads)]
    clusterings = [cluster(store, site, i, k, seed, raw) for i in (heads if names else heads[:1])]
    tables = [_name(store, clusters, seed if names else None) for clusters in clusterings]
    numbered = [table.assign(head=i, stability=0.0) for i, table in enumerate(tables)]
    named = pd.concat(numbered, ignore_index=True)
    best = int(find_most_named(named, ["head"])["head"]) if len(named) else 0
    roles, baseline, baseline_names = clusterings[best], None, NAMELESS
    if store.control and site in store.control.sites:
        baseline = cluster(store.control, site, roles.head, k, seed, raw)
        baseline_names = _name(store.control, baseline, seed if names else None)
    labels = label_named(tables[best]), label_named(baseline_names)
    strips = cluster_strips(
        store, roles, n_rows, not every, None, True, labels[0], baseline, labels[1]
    )
    choice = f"Head: of {n_heads} that with most tokens in named clusters"
    return replace(strips, note=f"{choice} · {strips.note}") if len(tables) > 1 else strips


def _count_clusters(store: Store, site: str) -> int:
    """How many clusters of a site ``examine`` made, beside its store; else 20."""
    file = store.path.parent / "clusters" / CLUSTERS.file
    runs = read_json(file)["runs"] if file.is_file() else ()
    return next((int(run["k"]) for run in runs if run["site"] == site), 20)


def _name(store: Store, roles: Clusters, seed: int | None) -> pd.DataFrame:
    """The names of clusters; an empty table without a seed and where nothing can name them."""
    try:
        return NAMELESS if seed is None else name_roles(store, roles, seed)
    except InputError:
        return NAMELESS


def draw_attention(
    store: Store,
    layer: int = -1,
    head: int = 0,
    sample: int = 0,
    positions: Sequence[int] | str = (),
    site: str = "",
) -> Squares | Strips:
    """The attention map of a head and a sample, at ``site`` or of a layer's self-attention; with ``positions``, the rows of
    these queries.
    """
    names = fnmatch.filter(store.sites, site or "*.self.attention")
    if not names:
        raise InputError(
            f"{store.path} has no attention maps: extract them (--sites '{site or '*.self.attention'}')"
        )
    site = site or f"{names[0].partition('.')[0]}.{layer}.self.attention"  # of the first stack
    if not positions:
        return map_squares(store, site, sample, head)
    return row_strips(store, site, sample, head, positions)


def draw_reconstruction(store: Store | pd.DataFrame, layer: int = -1, seed: int = 0) -> Grid:
    return reconstruction_scene(measure_reconstruction(store, seed), layer)


def tabulate_reconstruction(store: Store | pd.DataFrame, layer: int = -1, seed: int = 0) -> Table:
    return reconstruction_table(measure_reconstruction(store, seed), layer)


def measure_reconstruction(source: Store | pd.DataFrame, seed: int) -> pd.DataFrame:
    """The rows of ``reconstruct``: measured on a store, or as they are."""
    return source if isinstance(source, pd.DataFrame) else reconstruct(source, seed=seed)


def load_reconstructed(sources: Source | Store | Sequence[Source]) -> Store | pd.DataFrame:
    """A store, or the results of ``reconstruct`` in folders, one after another."""
    paths: list[Any] = list(sources) if isinstance(sources, list | tuple) else [sources]
    if len(paths) == 1 and (isinstance(paths[0], Store) or not RECONSTRUCTION.is_in(paths[0])):
        return as_store(paths[0])
    return pd.concat([RECONSTRUCTION.load(path) for path in paths], ignore_index=True)


def tabulate_probes(probes: pd.DataFrame, task: str = "", score: str = "f1") -> ProbeTable:
    """The table of all tasks, or of one, with F1 or another ``score`` (``macro_f1``, ``accuracy``)."""
    tasks = probes["task"].unique().tolist()
    if task and task not in tasks:
        raise unknown("task of these probes", task, tasks)
    return probe_table(probes[probes["task"] == task] if task else probes, score=score)


VALUES = ("encoder.*.self.value",)
RECONSTRUCTED = {
    "store": Input(
        "a store, or results: give --store STORE, or --ckpt with folders of `reconstruct --out`",
        load_reconstructed,
        RECONSTRUCTION.find_finished,
    )
}
MAKERS = {
    "roles": Maker(draw_roles, ("*.self.role|*.hidden",)),
    "names": Maker(tabulate_names),
    "attention": Maker(draw_attention, ("*.self.attention",)),
    "heads": Maker(heads_table, ("*.self.attention",), labels=("dep",)),
    "examined-heads": Maker(relation_squares),
    "examined-decoder": Maker(place_squares),
    "examined-states": Maker(share_bars),
    "accuracy": Maker(lambda evaluations: module_bars(evaluations, evaluations["split"].iloc[0])),
    "reconstruction": Maker(draw_reconstruction, VALUES, inputs=RECONSTRUCTED),
    "reconstruction-table": Maker(tabulate_reconstruction, VALUES, inputs=RECONSTRUCTED),
    "behavior": Maker(behavior_scene),
    "patching": Maker(patching_squares),
    "decomposition": Maker(role_fits.scheme_table),
    "decomposition-steps": Maker(role_fits.step_shares),
    "operations": Maker(role_fits.operation_dots),
    "withheld": Maker(role_fits.withheld_dots),
    "role-search": Maker(role_fits.search_curves),
    "snap": Maker(snap_curve),
    "ablation-map": Maker(ablation_map),
    "probes": Maker(tabulate_probes),
    "learning-curve": Maker(learning_scene),
}
