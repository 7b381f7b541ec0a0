"""Names of the clusters of labelled words, of all heads, beside those of the model's twins."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from scipy.special import entr
from sklearn.metrics.cluster import expected_mutual_information

from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.clustering.clusters import ESTIMATOR
from tprprobe.analyses.clustering.kmeans import find_heads
from tprprobe.analyses.kinds import NAMES, WORD_NAMES
from tprprobe.analyses.naming.fields import list_exact, list_labels, read_labels
from tprprobe.analyses.naming.name_counts import TRAINED
from tprprobe.analyses.naming.names import list_held_out, name_roles
from tprprobe.evaluation.results import Results, join_tables, load_view, melt
from tprprobe.evaluation.runner import Progress, run_jobs
from tprprobe.evaluation.splits import read_provenance
from tprprobe.files.checksums import sum_bytes
from tprprobe.files.tables import columns, read_table
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import jackknife
from tprprobe.store import Store

PLACE = ("model", "vectors", "site", "layer", "head", "k")  # columns of every table
# Columns that name a row; all others are numbers.
KEYS = (*PLACE, "cluster", "name", "candidate", "commonest", "field", "measure", "null", "subset")
KEYS += ("predictor", "polarity", "unnamed_because", "unit", "distinctive", "model_name", "data")
INTEGERS = ("k", "cluster", "size", "documents", "predicates", "clusters", "named")


def stack_tables(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The long table of tables, whose names are its tasks; other models and vectors than the first are controls."""
    main = next(iter(tables.values()))
    return join_tables([_stack(name, table, main) for name, table in tables.items() if len(table)])


def _stack(task: str, table: pd.DataFrame, main: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in KEYS if name in table]
    ends = "_low", "_high"
    numbers = [str(n) for n in table if n not in names and not str(n).endswith(ends)]
    control = table["model"].where(table["model"] != TRAINED, "")
    if "vectors" in table:
        is_other = (table["model"] == TRAINED) & (table["vectors"] != main["vectors"].iloc[0])
        control = table["vectors"].where(is_other, control)
    labelled = table.assign(task=task, estimator=ESTIMATOR, control=control)
    names = [*names, "task", "estimator", "control"]
    return melt(labelled, {name: name for name in names}, numbers, with_missing=True)


def view_table(results: Results, task: str) -> pd.DataFrame:
    """One of the tables; an empty one where the run has none."""
    wide = results.select(task=task).wide()
    names = [name for name in KEYS if name in wide and (name in PLACE or wide[name].notna().any())]
    numbers = [name for name in wide if name not in (*KEYS, "task", "estimator", "control")]
    integers = {name: int for name in INTEGERS if name in [*names, *numbers]}
    return wide[[*names, *numbers]].astype(integers) if len(wide) else pd.DataFrame()


TABLE = "names.csv"  # of version 0.3 and before
AGREEMENT, GAIN = "ami_", "gain_ami_"  # before a task: agreement of clusters with labels; its gain
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
    seeds, its tokens, the columns of ``name_roles``, and by task the agreement of the head's clusters with its labels (``ami_pos`` …). ``out`` and ``resume`` are those of ``name_all``. By default
    sites of roles are named, of a store without any the outputs of layers.
    """
    if patterns is None:
        patterns = "*.role" if any(site.endswith(".role") for site in store.sites) else "*.hidden"
    targets = find_heads(store, patterns)
    stores = {TRAINED: store, **store.twins}
    settings = {"sites": list(dict.fromkeys(site for site, _ in targets)), "k": k}
    labels = {
        task: store.tokens[task].astype(str).str.cat(sep=" ", na_rep="")
        for task in list_labels(store)
    }
    digests = [[task, sum_bytes(texts.encode())] for task, texts in labels.items()]
    settings |= {"raw": raw, "seed": seed, "labels": digests}
    settings["stores"] = {model: of_model.fingerprint for model, of_model in stores.items()}
    jobs = {
        f"{site}.{head}": partial(_name, stores, site, head, k, raw, seed) for site, head in targets
    }
    sides = {store.side(site): site for site, _ in targets}.values()
    sources = [
        (m, of_model.tokens_of(site))
        for m, of_model in stores.items()
        for site in sides
        if site in of_model.specs
    ]
    held_out = list_held_out(sources, seed)
    results = run_jobs(WORD_NAMES, settings, jobs, out, resume, progress, held_out)
    return view_table(results, "names")


def load_word_names(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows of a finished run, read from its folder."""
    if not (Path(folder) / TABLE).is_file():
        return load_view(folder, partial(view_table, task="names"))
    table = read_table(Path(folder) / TABLE, COLUMNS, "name again")
    return table.astype({"layer": "Int64", "head": "Int64"})


def load_named(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The clusters of a finished run of ``name``, of the model and its baseline models: of arithmetic, or of words."""
    return NAMES.load(folder).asked if NAMES.is_in(folder) else WORD_NAMES.load(folder)


def _name(
    stores: Mapping[str, Store], site: str, head: int | None, k: int, raw: bool, seed: int
) -> pd.DataFrame:
    """The names of the clusters of one head in all models, and how much better than a baseline model's those of the trained one agree with labels."""
    tables, of_trained = [], pd.DataFrame()
    for model, store in stores.items():
        if site not in store.specs:
            continue
        clusters = cluster(store, site, head, k, seed, raw)
        names = name_roles(store, clusters, seed)
        described = clusters.summary.set_index("cluster").loc[names["cluster"]]
        place = {"model": model, "site": site, "layer": layer_of(site), "head": head}
        place |= {"unit": "tokens", "stability": clusters.stability}
        facts = store.facts
        place |= {"model_name": facts.model.name or "", "data": Path(facts.data.name or "").name}
        tokens = read_labels(store, store.side(site)).assign(cluster=clusters.labels)
        of_trained = tokens if model == TRAINED else of_trained
        shared = of_trained[of_trained["sample"].isin(tokens["sample"])]
        for task in [task for task in list_exact(store) if tokens[task].notna().any()]:
            values = _agree(tokens, task)
            place |= jackknife(values).columns(f"{AGREEMENT}{task}")
            if model != TRAINED:
                place |= jackknife(_agree(shared, task) - values).columns(f"{GAIN}{task}")
        tables.append(names.assign(distinctive=described["distinctive"].to_numpy(), **place))
    return stack_tables({"names": pd.concat(tables, ignore_index=True)})


def _agree(tokens: pd.DataFrame, task: str) -> Float[np.ndarray, " value_and_part"]:
    """The adjusted mutual information of clusters and the labels of a task, and that without each part of the documents."""
    is_labelled = tokens[task].notna()
    rows, documents = tokens[is_labelled], read_provenance(tokens).documents[is_labelled]
    columns = (rows["cluster"], rows[task].astype(str), pd.Series(documents))
    return agree_without_parts(*(column.to_numpy() for column in columns))


MAX_LEFT_OUT = 50  # of documents, each left out once for an interval
Tables = Float[np.ndarray, "table cluster class"]


def agree_without_parts(
    labels: Int[np.ndarray, " token"],
    values: Shaped[np.ndarray, " token"],
    documents: Int[np.ndarray, " token"],
) -> Float[np.ndarray, " value_and_part"]:
    """The AMI of clusters and classes, and after it that without every document, or without every one of MAX_LEFT_OUT parts of more."""
    clusters, classes, numbers = (
        np.unique(column, return_inverse=True)[1] for column in (labels, values, documents)
    )
    part_numbers = numbers % MAX_LEFT_OUT
    shape = (int(part_numbers.max()) + 1, int(clusters.max()) + 1, int(classes.max()) + 1)
    cells = np.ravel_multi_index((part_numbers, clusters, classes), shape)
    counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    tables = [counts.sum(0), *(counts.sum(0) - counts)]
    gains = [measure_gain(table[None, table.any(1)][:, :, table.any(0)]) for table in tables]
    return np.array([gain[0] / room if room > 0 else 0.0 for gain, room in gains])


def measure_gain(tables: Tables) -> tuple[Float[np.ndarray, " table"], float]:
    """The gain n (I − E I) in nats and its room n (mean(H) − E I) of tables of the same margins, as permutations have."""
    table, n = tables[0], float(tables[0].sum())
    h_clusters, h_classes = (float(measure_entropy(table.sum(axis)[None])[0]) for axis in (1, 0))
    information = h_clusters + h_classes - measure_entropy(tables.reshape(len(tables), -1))
    chance = float(expected_mutual_information(table.astype(int), int(n)))
    return n * (information - chance), n * ((h_clusters + h_classes) / 2 - chance)


def measure_entropy(counts: Float[np.ndarray, "table cell"]) -> Float[np.ndarray, " table"]:
    """The entropy of counts in nats; scipy.stats.entropy checks its input longer than it counts."""
    return entr(counts / counts.sum(-1, keepdims=True)).sum(-1)
