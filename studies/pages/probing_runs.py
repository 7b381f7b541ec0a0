"""The probes behind the page on probing: extracted and trained once, kept in folders."""

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.probing import Schedule, probe
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.extraction.extractions import Target
from tprprobe.gold.labellers import Labeller
from tprprobe.models import load_model
from tprprobe.site.hooks import find_sites
from tprprobe.store import Store, open_store
from tprprobe.store.layout import MANIFEST

TRANSFORMER, CONTINUOUS, DISCRETE = "t5-english", "tpt-c-english", "tpt-d-english"
MODELS = (TRANSFORMER, CONTINUOUS, DISCRETE)
DATA, SPLIT, SEED = "english:version=1,depth=1,sentences=4-6", "test", 1
N_SUMMARIES, N_DOCUMENTS = (
    240,
    100,
)  # reports whose summaries, and whose whole documents, are probed
SCHEDULE = Schedule(learning_rate=3e-3, batch=8, limit=100)  # for so few reports
ROWS = "rows.parquet"
VECTORS = ("{}.role", "{}.filler", "{}.tpr")
DECODER = [*(name.format("decoder.*") for name in VECTORS), "decoder.*.hidden"]
CROSS = [name.format("decoder.*.cross") for name in VECTORS]
ENCODER = [*(name.format("encoder.*") for name in VECTORS), "encoder.*.hidden"]
WEIGHTS = "*.role_weights"
CONTROLS = ("control", "untrained", "previous", "dictionary")


@dataclass(frozen=True)
class Probed:
    """A folder of probes of a model, and the name of what was probed."""

    model: str
    folder: Path

    @property
    def rows(self) -> pd.DataFrame:
        return pd.read_parquet(self.folder / ROWS).assign(model=self.model)


def probe_english(runs: Path, progress: Callable[[str], None]) -> dict[str, dict[str, Probed]]:
    """The probes of the shipped models of the generated English, by kind of run and model.

    written    the decoder, teacher-forced on summaries: every site, beside all controls
    coded      codelengths and usable information of the cross-attention's vectors
    generated  probes of the cross-attention's vectors, tested on summaries that the model writes of
               as many further reports
    span-conv  the paper's probe of the cross-attention's vectors, one seed
    read       the encoder: every site, beside its untrained twin
    """
    linear: dict[str, Any] = {"estimator": "linear", "most": 0}
    plans: dict[str, tuple[str, dict[str, Any]]] = {
        "written": (
            "written",
            linear | {"sites": DECODER, "controls": CONTROLS},
        ),
        "coded": ("written", linear | {"sites": CROSS, "controls": (), "information": True}),
        "generated": ("written", linear | {"sites": CROSS, "controls": ()}),
        "span-conv": (
            "written",
            {"estimator": "span-conv", "sites": CROSS, "schedule": SCHEDULE, "controls": ()},
        ),
        "read": ("read", linear | {"sites": ENCODER, "controls": ("untrained",)}),
    }
    extracted = {
        "written": (N_SUMMARIES, [*DECODER, f"decoder.{WEIGHTS}"]),
        "read": (N_DOCUMENTS, [*ENCODER, WEIGHTS]),
    }
    probes: dict[str, dict[str, Probed]] = {}
    for kind, (texts, settings) in plans.items():
        for name in MODELS:
            progress(f"{name}, {kind}")
            n, sites = extracted[texts]
            data = load_data(DATA, split=SPLIT, n=n, seed=SEED)
            path = runs / f"{name}.{texts}.store"
            store = keep_store(partial(load_model, name), data, sites, path)
            options: dict[str, Any] = dict(settings)
            if kind == "generated":
                place = runs / f"{name}.{kind}.store"
                further = load_data(DATA, split=SPLIT, n=2 * n, seed=SEED)[n:]
                options["test"] = keep_store(
                    partial(load_model, name), further, CROSS, place, target="generated"
                )
            probed = Probed(name, keep_probes(store, runs / f"{name}.{kind}", **options))
            probes.setdefault(kind, {})[name] = probed
    return probes


def keep_store(
    load: Callable[[], Any],
    data: Dataset,
    sites: Sequence[str],
    path: Path,
    labellers: Sequence[Labeller] = (),
    target: Target = "reference",
) -> Store:
    """The store of a model's sites, extracted if it is missing; its twin has read as many samples."""
    if (path / MANIFEST).is_file():
        store = open_store(path)
        if store.samples != len(data):
            raise InputError(
                f"{path} has {store.samples} samples, not {len(data)}: remove it first"
            )
        return store
    model = load()
    names = list(find_sites(model))
    sites_here = [pattern for pattern in sites if fnmatch.filter(names, pattern)]
    settings: dict[str, Any] = {"labellers": labellers, "target": target}
    settings |= {"resume": path.exists(), "control_samples": len(data)}
    return extract(model, data, sites_here, path, 0, **settings)


def keep_probes(store: Store, folder: Path, sites: Sequence[str], **settings: Any) -> Path:
    """The folder of probes of all tasks on a store's sites, trained if it is missing."""
    if not (folder / ROWS).is_file():
        sites_here = [site for site in store.sites if any(fnmatch.fnmatch(site, p) for p in sites)]
        options = {"sites": sites_here, "information": False} | settings
        probe(store, "all", out=folder, resume=folder.exists(), **options)
    return folder
