"""Question d: what do layers know of parts of speech, dependencies, entities and semantic roles?

Linear probes of every layer beside the same probe on the input embeddings (before any layer), on documents of the
English Web Treebank. A layer's knowledge is what it adds to the embeddings.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

import tprprobe as tp
from studies.real.outcomes import estimate, publish
from studies.real.relation_heads import estimate_heads, measure_heads
from studies.real.treebank import read_treebank
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import Interval, bootstrap, bootstrap_difference, f1, read_interval

ORDER = ("pos", "dep", "nel", "srl")  # as published
SENTENCES, SEEDS = 1_000, (0, 1)
LAYERS = {"minilm": range(6), "smollm2": (0, 4, 9, 14, 19, 24, 29)}
TWIN, REAL = "permuted", "real"
Sums = Float[np.ndarray, "document 3"]


def probe_model(name: str, model: str, treebank: Path, runs: Path, seed: int) -> pd.DataFrame:
    """Counts by document of every layer, task and control."""
    loaded = tp.load_model(model)
    stack = "encoder" if "encoder.0.hidden" in set(tp.sites(loaded)["site"]) else "layers"
    sites = [f"{stack}.embedding", *(f"{stack}.{layer}.hidden" for layer in LAYERS[name])]
    data = read_treebank(treebank, "dev", SENTENCES)
    store = tp.extract(
        loaded,
        data,
        sites,
        runs / f"{name}-store",
        twins=[TWIN],
        control_samples=len(data),
        resume=True,
    )
    folder = runs / f"{name}-probes-{seed}"
    tp.probe(store, ORDER, out=folder, resume=True, sites=tuple(sites), seed=seed)
    return pd.read_parquet(folder / "documents.parquet")


def _sums(documents: pd.DataFrame, task: str, site: str, control: str = REAL) -> Sums:
    """Counts of every document of any task, zeros where it has no target of this one; empty if there is no probe."""
    counts = documents[(documents["task"] == task) & (documents["site"] == site)]
    counts = counts[counts["control"] == control].set_index("document")[["hit", "false", "missed"]]
    every = np.unique(documents["document"]) if len(counts) else []
    return counts.reindex(every, fill_value=0).to_numpy(float)


def summarize(
    name: str, documents: pd.DataFrame, seed: int
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """A row a layer and task: F1, what it adds to the embeddings, what is learned; and the estimates."""
    probed = documents.loc[documents["control"] == REAL, "site"].unique().tolist()
    layers = sorted(
        (site for site in probed if layer_of(site) is not None),
        key=lambda site: layer_of(site) or 0,
    )
    [embedding] = set(probed) - set(layers)
    sites = [embedding, *layers]
    numbers = np.array([layer_of(site) for site in layers], float)
    rows, estimates, best = [], [], {}
    for task in ORDER:
        static = _sums(documents, task, embedding)
        for site in layers:
            sums_here = _sums(documents, task, site)
            place = {
                "model": name,
                "task": task,
                "site": site,
                "layer": layer_of(site),
                "seed": seed,
            }
            row = (
                place
                | bootstrap(sums_here, f1).columns("f1")
                | bootstrap(static, f1).columns("embeddings")
            )
            row |= bootstrap_difference(sums_here, static, f1).columns("added")
            twin = _sums(documents, task, site, TWIN)
            if len(twin) == len(sums_here):
                row |= bootstrap_difference(sums_here, twin, f1).columns("learned")
            rows.append(row)
        best[task] = max(
            layers, key=lambda s: f1(_sums(documents, task, s).sum(0, keepdims=True))[0]
        )
        top = next(r for r in rows if r["task"] == task and r["site"] == best[task])
        if task == ORDER[0]:
            estimates.append(estimate("d-context", seed, read_interval(top, "added"), name))
        if "learned" in top:
            estimates.append(
                estimate("d-learnt", seed, read_interval(top, "learned"), f"{name} {task}")
            )
    sums = {task: [_sums(documents, task, site) for site in sites] for task in ORDER}
    roles = [
        _sums(documents, task, site) for task in ("srl", "pos") for site in (best[task], embedding)
    ]
    estimates.append(estimate("d-roles", seed, _twice(roles), name))
    for earlier, later in pairwise(ORDER):
        value = _later(sums[earlier], sums[later], numbers)
        estimates.append(estimate(f"d-order-{name}", seed, value, f"{later} − {earlier}"))
    for task in ORDER:
        value = bootstrap(np.concatenate(sums[task], 1), lambda t: _center(t, numbers))
        rows.append(
            {
                "model": name,
                "task": task,
                "site": "expected layer",
                "seed": seed,
                **value.columns("f1"),
            }
        )
    return pd.DataFrame(rows), estimates


def _twice(sums: list[Sums]) -> Interval:
    """F1 of the first less the second, less the same of the third and fourth, on the same documents."""

    def gain(totals: np.ndarray) -> np.ndarray:
        a, b, c, d = (f1(totals[:, i : i + 3]) for i in range(0, 12, 3))
        return (a - b) - (c - d)

    return bootstrap(np.concatenate(sums, 1), gain)


def _center(totals: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """The center of gravity of layers by what they add to the embeddings, whose totals come first."""
    scores = np.stack([f1(totals[:, i : i + 3]) for i in range(0, totals.shape[1], 3)], 1)
    added = np.clip(scores[:, 1:] - scores[:, :1], 0, None)
    return (added * layers).sum(1) / np.maximum(added.sum(1), 1e-12)


def _later(earlier: list[Sums], second: list[Sums], layers: np.ndarray) -> Interval:
    """The center of a task's layers less that of another, on the same documents."""
    width = 3 * len(earlier)
    return bootstrap(
        np.concatenate([*earlier, *second], 1),
        lambda t: _center(t[:, width:], layers) - _center(t[:, :width], layers),
    )


def measure(models: Mapping[str, str], treebank: Path, runs: Path) -> pd.DataFrame:
    """Measures what is missing, writes the tables of question d, and returns its estimates."""
    tables, heads, all_estimates = [], [], []
    for name, model in models.items():
        for seed in SEEDS:
            heads.append(measure_heads(name, model, treebank, runs / f"{name}-heads", seed))
            all_estimates += estimate_heads(heads[-1])
            table, estimates = summarize(name, probe_model(name, model, treebank, runs, seed), seed)
            tables.append(table)
            all_estimates += estimates
    publish("relation-heads", heads)
    publish("layer-knowledge", tables)
    return publish("layer-estimates", [pd.DataFrame(all_estimates)])
