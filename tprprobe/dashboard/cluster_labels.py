"""Names of clusters from any column of the tokens, where data have no exact structure to name them by."""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.fields import NONE, OTHER, list_fields, read_field
from tprprobe.statistics import Interval, bootstrap_ratio
from tprprobe.store.groups import group_tokens

LEFT_OUT = ("position", "word", "document", "module")  # these say where a token stands
LEAST = 0.3  # F0.5 of a name
UNKNOWN = Interval(np.nan, np.nan, np.nan)


def name_by_labels(
    tokens: pd.DataFrame, gold: pd.DataFrame | None, labels: np.ndarray, k: int
) -> pd.DataFrame | None:
    """One row per cluster: the value of a column (``pos NN``, ``token the``) with the highest F0.5 on every second group of
    samples; precision, recall with 95 % intervals and f05 on the others; coverage. None without columns to name by.
    """
    fields = [each for each in list_fields(tokens, gold) if each not in LEFT_OUT]
    if not fields or len(tokens) < 2:
        return None
    values = {field: read_field(tokens, gold, field) for field in fields}
    named = {field.removeprefix("gold "): known for field, known in values.items()}
    words = {
        name: (f"{name} " + known).mask(known.isin([NONE, OTHER])) for name, known in named.items()
    }
    group = np.asarray(group_tokens(tokens.reset_index(drop=True)))
    table = pd.DataFrame(words)
    return pd.DataFrame(
        [_name(table, labels == each, group) | {"cluster": each} for each in range(k)]
    )


def _name(tokens: pd.DataFrame, inside: np.ndarray, group: np.ndarray) -> dict[str, Any]:
    is_chosen_on = group % 2 == 0
    best = _choose(tokens[is_chosen_on], inside[is_chosen_on])
    judged, holds = inside & ~is_chosen_on, (tokens == best).any(axis=1).to_numpy() & ~is_chosen_on
    name, f05, precision, recall = UNNAMED, np.nan, UNKNOWN, UNKNOWN
    if best and judged.any() and holds.any():
        hits, inner, outer = (
            np.bincount(group, w).astype(float) for w in (holds & judged, judged, holds)
        )
        precision, recall = bootstrap_ratio(hits, inner), bootstrap_ratio(hits, outer)
        f05, chance = (
            float(_f05(precision.value, recall.value)),
            holds.sum() / (~is_chosen_on).sum(),
        )
        name = best if f05 >= LEAST and not precision.low <= chance else UNNAMED
    measures = precision.columns("precision") | recall.columns("recall")
    return {
        "name": name,
        "f05": f05,
        "coverage": float(inside.mean()),
        "size": int(inside.sum()),
    } | measures


def _choose(tokens: pd.DataFrame, inside: np.ndarray) -> str:
    """The value that tells the inner tokens best from all."""
    best, most = "", -1.0
    for field in tokens:
        hits = tokens[field][inside].value_counts()
        counts = tokens[field].value_counts().reindex(hits.index)
        scores = _f05(hits / max(inside.sum(), 1), hits / counts)
        if len(scores) and scores.max() > most:
            best, most = str(scores.idxmax()), float(scores.max())
    return best


def _f05(precision, recall):
    return 1.25 * precision * recall / np.maximum(0.25 * precision + recall, 1e-12)
