"""Colorings of tokens: by cluster, gold structure, labels, or a column of the token table."""

from itertools import pairwise

import numpy as np
import pandas as pd

from tprprobe.analyses.naming.word_labels import LABELS, label_words
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.errors import unknown
from tprprobe.gold.labels import WORD

CLUSTER, OTHER, NONE = "cluster", "other", "–"
LAYER = "layer"  # of the same tokens in all layers: a map of its own
MOST = 20  # values that have a color of their own
WHOLE = ("question", "answer", "prediction", "source", "target", "side", "sample", "id")


def list_fields(scene: Cloud) -> list[str]:
    """The fields by which the tokens of a scene can be colored; the first is the cluster."""
    gold = [] if scene.gold is None else [f"gold {name}" for name in scene.gold]
    columns = [
        str(name)
        for name in scene.tokens
        if name not in WHOLE and f"gold {name}" not in gold and scene.tokens[name].nunique() > 1
    ]
    return [CLUSTER, *columns, *gold]


def read_field(scene: Cloud, name: str) -> pd.Series:
    """The values of a field, one per token, as texts: the commonest by name, the others together.

    Raises:
        InputError: no such field.
    """
    if name == CLUSTER:
        return pd.Series(scene.roles.labels.astype(str))
    gold = scene.gold if name.startswith("gold ") else None
    if gold is not None and name[5:] in gold:
        values = gold[name[5:]]
    elif name in scene.tokens and name not in WHOLE:
        is_label = name in LABELS and WORD in scene.tokens
        values = label_words(scene.tokens, name) if is_label else scene.tokens[name]
    else:
        raise unknown("field", name, list_fields(scene))
    return _grouped(values.reset_index(drop=True))


def _grouped(values: pd.Series) -> pd.Series:
    """Numbers in up to eight ranges; texts, of which only the commonest keep their names."""
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST:
        return _ranged(values.astype(float))
    texts = values.astype(object).map(visible, na_action="ignore").fillna(NONE)
    common = texts.value_counts().index[:MOST]
    return texts.where(texts.isin(common), OTHER)


def _ranged(values: pd.Series) -> pd.Series:
    """Numbers as the texts of up to eight ranges, of about as many values each."""
    edges: list[float] = np.unique(np.nanquantile(values, np.linspace(0, 1, 9))).tolist()
    names = [f"{low:g}…{high:g}" for low, high in pairwise(edges)]
    found = pd.cut(values, edges, labels=names, include_lowest=True)
    return found.astype(object).fillna(NONE)


def order_values(values: pd.Series) -> list[str]:
    """The values in the order in which they are given colors: numbers by size, texts by count."""
    found = values.value_counts().index.tolist()
    if all(each.isdigit() for each in found):
        return sorted(found, key=int)
    last = [each for each in (OTHER, NONE) if each in found]
    return [each for each in found if each not in last] + last
