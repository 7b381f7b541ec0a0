"""The questions of an examination: a table each."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.head_patterns import score_heads
from tprprobe.analyses.attention.head_relations import list_self_maps
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.decomposition.variance_shares import score_shares
from tprprobe.analyses.naming.fields import count_places
from tprprobe.analyses.naming.name_counts import select_named
from tprprobe.analyses.naming.names import name_roles
from tprprobe.analyses.probing import probe
from tprprobe.console import quiet
from tprprobe.data import load_data
from tprprobe.data.dataset import ALL
from tprprobe.data.frames.pairsets import MinimalPairs
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.families import BAG
from tprprobe.examination.component_measures import score_maps
from tprprobe.examination.subject import SOURCE, Subject, reads_words
from tprprobe.figures.report.sections import Section
from tprprobe.figures.state_shares import PLACE
from tprprobe.models.answers import describe_matches
from tprprobe.site.patterns import side_of
from tprprobe.store.layout import TWINS

N_BEHAVIOR = 60  # pairs of sentences in which two words change places
PAIRS = "minimal pairs, in which two words change places (--data pairs:FRAME)"
HEADLESS = f"it needs a model that was saved with a head that predicts words, such as hf:HuggingFaceTB/SmolLM2-135M, and {PAIRS}"
CHARACTERS = "the model reads characters, of which no label is known; whether {1} tells which is at which place, ask `tprprobe decompose {0} --site {1}` first, then `tprprobe probe token {0} --sites {1} --probe bilinear` (it takes minutes)"
UNLABELLED = (
    "the words of these texts have no labels: give annotated text, or --labels spacy:PIPELINE"
)


def score_answers(subject: Subject) -> list[Section]:
    """How often the model is right, where questions have one right answer: on the test split, if what it reads is not divided."""
    from tprprobe.interventions.prompts import has_head

    data = subject.data
    is_asked = data.has_targets and data[0].has_one_answer and not isinstance(data, MinimalPairs)
    if not (is_asked and has_head(subject.model)):
        return []
    if data.split == ALL:
        try:
            with quiet():
                data = load_data(data.name, split="test", seed=data.seed)[: len(data)]
        except InputError:  # it has no splits
            data = subject.data
    text = f"{describe_matches(subject.model, data).capitalize()}."
    deeper = f"tprprobe eval --ckpt {subject.checkpoint} --data {data.name} --split {data.split}"
    return [Section("How often is its answer right?", text, deeper=deeper)]


def measure_states(subject: Subject) -> pd.DataFrame:
    """The shares of variance of words, places and bindings at every site, in the model and its baseline."""
    table = score_shares(subject.store, subject.sites, [PLACE], subject.unit, subject.seed)
    for twin in subject.store.twins:
        subtract_baseline(table, twin)
    return table


def subtract_baseline(table: pd.DataFrame, twin: str) -> None:
    """Adds to the rows of tokens how much larger their share is than a twin's: a difference of independent estimates, whose interval
    is wide for two models that read the same texts. Source: Zou & Donner 2008 (MOVER).
    """
    is_model = (table["family"] == BAG) & (table["control"] == "")
    ends = ["share", "share_low", "share_high"]
    of_twin = table[(table["family"] == BAG) & (table["control"] == twin)].set_index("site")[ends]
    sites = table.loc[is_model, "site"]
    value, low, high = table.loc[is_model, ends].to_numpy(float).T
    twin_value, twin_low, twin_high = of_twin.reindex(sites).to_numpy(float).T
    gain = value - twin_value
    lows = gain - np.hypot(value - low, twin_high - twin_value)
    highs = gain + np.hypot(high - value, twin_value - twin_low)
    names = ["share_learned", "share_learned_low", "share_learned_high"]
    table.loc[is_model, names] = np.column_stack([gain, lows, highs])


def measure_clusters(subject: Subject) -> pd.DataFrame:
    """The clusters of the last site's tokens with their most frequent tokens and names, and how many clusters of the baseline
    model have one.
    """
    clusters = subject.clusters
    summary = clusters.summary.drop(columns=["center"], errors="ignore")
    try:
        names = name_roles(subject.store, clusters, subject.seed)
    except InputError:  # nothing to name them by
        return summary
    for kind, twin in subject.store.twins.items():
        twin_clusters = cluster(twin, clusters.site, k=clusters.k, seed=subject.seed)
        twin_names = name_roles(twin, twin_clusters, subject.seed)
        names[f"named_{kind}"] = len(select_named(twin_names))
        names[f"places_{kind}"] = count_places(twin_names["name"])
    repeated = [name for name in names if name in summary and name != "cluster"]
    return summary.merge(names.drop(columns=repeated), on="cluster")


def measure_probes(subject: Subject) -> pd.DataFrame:
    """Probes of the labels of words at all sites, beside those of the input embeddings and of the baseline model."""
    if not reads_words(subject.model):
        raise InputError(CHARACTERS.format(subject.store.path, subject.sites[-1]))
    if not subject.probed:
        raise InputError(UNLABELLED)
    inner = tuple(site for site in subject.sites if not site.endswith(".embedding"))
    controls = (*["static"] * (len(inner) < len(subject.sites)), TWINS[0])
    options: dict[str, Any] = {"sites": inner, "controls": controls}
    out = subject.folder / "probes"
    return probe(subject.store, subject.probed, out=out, resume=True, **options)


def measure_behavior(subject: Subject) -> pd.DataFrame:
    """What the model expects next after two words' states have changed places."""
    from tprprobe.interventions.behavior import measure_pairs
    from tprprobe.interventions.prompts import has_head

    model: Any = subject.model
    if not has_head(model):
        raise InputError(HEADLESS)
    if not isinstance(subject.data, MinimalPairs):
        raise InputError(f"it needs {PAIRS}")

    data: Any = replace(subject.data, asked=True)[:N_BEHAVIOR]
    out = subject.folder / "behavior"
    sites = [site for site in subject.sites if side_of(site) == SOURCE]
    return measure_pairs(model, data, sites, out=out, resume=True, seed=subject.seed)


MEASURES: dict[str, Callable[[Subject], pd.DataFrame]] = {
    "nested": measure_states,
    "heads": partial(score_maps, list_self_maps, score_heads),
    "clusters": measure_clusters,
    "probes": measure_probes,
    "behavior": measure_behavior,
}
