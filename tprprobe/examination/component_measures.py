"""Questions of models that have a decoder or roles: where the decoder looks, and what the clusters of roles are."""

from collections.abc import Callable
from functools import partial

import pandas as pd

from tprprobe.analyses.attention.cross_places import list_cross_maps, score_cross_heads
from tprprobe.analyses.naming.name_counts import TRAINED
from tprprobe.analyses.naming.word_names import name_words
from tprprobe.examination.subject import N_CLUSTERS, Subject
from tprprobe.store import Store

Maps = Callable[[Store], list[str]]
Scores = Callable[[Store, int], pd.DataFrame]


def list_component_measures(subject: Subject) -> dict[str, Callable[[Subject], pd.DataFrame]]:
    """The questions that this model has the parts for."""
    measures: dict[str, Callable[[Subject], pd.DataFrame]] = {}
    if list_cross_maps(subject.store):
        measures["decoder"] = partial(score_maps, list_cross_maps, score_cross_heads)
    if subject.role_sites:
        measures["roles"] = measure_roles
    return measures


def score_maps(list_maps: Maps, score: Scores, subject: Subject) -> pd.DataFrame:
    """What every head of some attention maps looks at, in the model and its baseline."""
    stores = {TRAINED: subject.store, **subject.store.twins}
    tables = [
        score(store, subject.seed).assign(model=model)
        for model, store in stores.items()
        if model == TRAINED or list_maps(store)
    ]
    return pd.concat(tables, ignore_index=True)


def measure_roles(subject: Subject) -> pd.DataFrame:
    """The names of the clusters of every head's roles, in the model and its baseline."""
    n_tokens = len(subject.store.tokens_of(subject.role_sites[0]))
    k = max(2, min(N_CLUSTERS, n_tokens // 10))
    return name_words(subject.store, subject.role_sites, k=k, seed=subject.seed)
