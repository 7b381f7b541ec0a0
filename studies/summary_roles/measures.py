"""One model of the study of summaries: what its vectors know and how discrete its roles are, by report, so that
intervals are over model seeds and reports.

A measurement is a column with a row per report. Where it is a ratio of sums over reports (F1, a
share of distributions), a cell is ``numerator/denominator``.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprpapers.jiang.discreteness import PEAKS, measure_roles, pool_roles
from tprpapers.jiang.snapping import find_weights
from tprprobe.analyses.probing import probe
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_pairs
from tprprobe.extraction import extract
from tprprobe.extraction.passes import decoder_inputs, read_block
from tprprobe.models import load_model
from tprprobe.models.protocol import Model, require_model, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import side_of

DATA, SPLIT, SEED = "english:version=1,depth=1,sentences=4-6", "test", 1  # as the plan tests
REPORTS = 240  # that are measured
VECTORS = tuple(f"decoder.*.cross.{name}" for name in ("role", "filler", "tpr"))
CONTROLS = ("untrained", "dictionary")  # of the last role vectors, in parts of speech
PEAK = "above_98"
Columns = dict[str, list[Any]]


def measure_model(folder: Path, steps: Mapping[int, Path], scratch: Path) -> dict[str, Any]:
    """The two tables of a trained model: ``reports`` (a row per report) and ``discreteness`` (a row per
    step and sub-layer); ``steps`` are its checkpoints along the training, the last one is itself.
    """
    model = require_model(load_model(folder), "which no study trains")
    reports = load_data(DATA, split=SPLIT, n=REPORTS, seed=SEED)
    shares, along = measure_discreteness(steps, reports)
    columns = probe_reports(model, reports, scratch) | shares
    return {"reports": pd.DataFrame(columns), "discreteness": along}


# ---- probes -----------------------------------------------------------------------------------------


def probe_reports(model: Model, data: Dataset, scratch: Path) -> Columns:
    """The labels that linear probes of the cross-attention's vectors tell right, by report: twice the
    hits over hits, false and missed ones (F1 is the ratio of the sums).

    Columns: ``pos.1.role`` …, ``pos.majority``, and of the last layer's roles in parts of speech the
    controls, ``pos.1.role.untrained`` ….
    """
    names = list(find_sites(model))
    sites = [pattern for pattern in VECTORS if matching(names, pattern)]
    extracted_sites = [*sites, *matching(names, "decoder.*.cross.role_weights")]
    store = extract(model, data, extracted_sites, scratch / "store", 0, control_samples=len(data))
    linear: dict[str, Any] = {"estimator": "linear", "most": 0, "information": False}
    probe(store, "all", out=scratch / "probes", sites=sites, controls=(), **linear)
    counts = [pd.read_parquet(scratch / "probes" / "documents.parquet")]
    if roles := sorted(matching(store.sites, VECTORS[0])):
        control_folder = scratch / "controls"
        probe(store, "pos", out=control_folder, sites=roles[-1], controls=CONTROLS, **linear)
        counts.append(pd.read_parquet(control_folder / "documents.parquet"))
    return dict(_counted(pd.concat(counts), [source.source for source in data]))


def _counted(counts: pd.DataFrame, sources: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    counts = counts[counts["side"] == "target"]
    for (task, site, control), site_counts in counts.groupby(
        ["task", "site", "control"], sort=False
    ):
        by_report: Any = site_counts.drop_duplicates("document").set_index("document")
        rows = by_report[["hit", "false", "missed"]].reindex(sources).fillna(0).astype(int)
        cells = [f"{2 * hit}/{2 * hit + false + missed}" for hit, false, missed in rows.to_numpy()]
        yield _named(str(task), str(site), str(control)), cells


def _named(task: str, site: str, control: str) -> str:
    if not site:
        return f"{task}.{control}"
    _, layer, _, vector = site.split(".")
    return ".".join([task, layer, vector, *([] if control == "real" else [control])])


# ---- discreteness -----------------------------------------------------------------------------------


def measure_discreteness(steps: Mapping[int, Path], data: Dataset) -> tuple[Columns, pd.DataFrame]:
    """The role distributions with a maximum above .98 at every step: by report (all sub-layers, heads
    and tokens), and by layer; both empty for a model without a dictionary of roles.
    """
    columns: Columns = {}
    tables = []
    for step, folder in steps.items():
        model = require_model(load_model(folder), "which no study trains")
        if not (sites := find_weights(model)):
            break
        pairs = encode_pairs(data, require_vocabulary(model))
        rows = read_block(model, pairs, sites, model.config.pad).rows
        columns[f"{PEAK}.{step}"] = _peaks(rows, pairs)
        tables.append(pool_roles(measure_roles(rows), ["sublayer", "layer"]).assign(step=step))
    return columns, pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _peaks(weights: Mapping[str, np.ndarray], pairs: Pairs) -> list[str]:
    """The distributions of every report that are peaked, over all of its distributions."""
    sides = {"source": pairs.source.offsets, "target": decoder_inputs(pairs)}
    counts = np.zeros((2, len(pairs)), int)
    for site, values in weights.items():
        starts = sides[side_of(site)].numpy()[:-1]
        peaked = values.max(-1) > PEAKS[PEAK]
        counts[0] += np.add.reduceat(peaked.sum(1), starts)
        counts[1] += np.add.reduceat(np.full(len(values), values.shape[1]), starts)
    return [f"{above}/{total}" for above, total in counts.T]
