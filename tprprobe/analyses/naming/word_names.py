"""Names of the clusters of labelled words, of all heads, beside those of the model's twins."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from tprprobe.analyses.clustering import Clusters, cluster
from tprprobe.analyses.clustering.kmeans import find_heads
from tprprobe.analyses.kinds import WORD_NAMES
from tprprobe.analyses.naming.fields import list_exact, read_labels
from tprprobe.analyses.naming.long_tables import stack_tables, view_table
from tprprobe.analyses.naming.names import name_roles
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.evaluation.results import load_view
from tprprobe.evaluation.runner import Progress, run_jobs
from tprprobe.files.tables import columns, read_table
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

TABLE = "names.csv"  # of version 0.3 and before
AGREEMENT = "ami_"  # before a task, the column of how far clusters agree with its labels
COLUMNS = columns(
    text="model site name commonest",
    whole="cluster size",
    number="layer head stability coverage precision recall",
)


def name_words(
    store: Store,
    patterns: str | Sequence[str] | None = None,
    k: int = 20,
    raw: bool = False,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
) -> pd.DataFrame:
    """One row per cluster of every head of the sites that match, in the model (``trained``) and its twins: its stability over
    seeds, its commonest tokens, the columns of ``name_roles``, and by task the agreement of the head's clusters with its labels (``ami_pos`` …). ``out`` and ``resume`` are those of ``name_all``. By default
    sites of roles are named, of a store without any the outputs of layers.
    """
    if patterns is None:
        patterns = "*.role" if any(site.endswith(".role") for site in store.sites) else "*.hidden"
    targets = find_heads(store, patterns)
    stores = {TRAINED: store, **store.twins}
    settings = {"sites": list(dict.fromkeys(site for site, _ in targets)), "k": k}
    settings |= {"raw": raw, "seed": seed}
    settings["stores"] = {model: of_model.fingerprint for model, of_model in stores.items()}
    jobs = {
        f"{model}.{site}.{head}": partial(_name, model, model_store, site, head, k, raw, seed)
        for site, head in targets
        for model, model_store in stores.items()
        if site in model_store.specs
    }
    return view_table(run_jobs(WORD_NAMES, settings, jobs, out, resume, progress), "names")


def load_word_names(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows of a finished run, read from its folder."""
    if not (Path(folder) / TABLE).is_file():
        return load_view(folder, partial(view_table, task="names"))
    table = read_table(Path(folder) / TABLE, COLUMNS, "name again")
    return table.astype({"layer": "Int64", "head": "Int64"})


def _name(
    model: str, store: Store, site: str, head: int | None, k: int, raw: bool, seed: int
) -> pd.DataFrame:
    clusters = cluster(store, site, head, k, seed, raw)
    names = name_roles(store, clusters, seed)
    commonest = names["cluster"].map(clusters.summary.set_index("cluster")["top"])
    names = names.assign(stability=clusters.stability, commonest=commonest)
    names = names.assign(**_agree_with_labels(store, clusters))
    place = {"model": model, "site": site, "layer": layer_of(site), "head": head}
    return stack_tables({"names": names.assign(**place)})


def _agree_with_labels(store: Store, clusters: Clusters) -> dict[str, float]:
    """The adjusted mutual information of clusters and the labels of every task, by column."""
    tokens, agreements = read_labels(store, store.side(clusters.site)), dict[str, float]()
    for task in list_exact(store):
        is_labelled = tokens[task].notna().to_numpy()
        labels = tokens.loc[is_labelled, task].astype(str)
        ami = adjusted_mutual_info_score(labels, clusters.labels[is_labelled])
        agreements[f"{AGREEMENT}{task}"] = float(ami)
    return agreements
