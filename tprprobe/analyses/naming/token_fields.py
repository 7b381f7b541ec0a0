"""Fields of tokens, by which maps are colored and clusters are named: columns of a store, and gold structure in words."""

from itertools import pairwise

import numpy as np
import pandas as pd

from tprprobe.analyses.naming.fields import LABELS, label_words
from tprprobe.errors import unknown
from tprprobe.gold.labels import WORD
from tprprobe.store.token_texts import spell, visible

CLUSTER, OTHER, NONE = "cluster", "other", "–"
MOST = 20  # values that have a color of their own
WHOLE = ("question", "answer", "prediction", "source", "target", "side", "sample", "id")


def list_fields(tokens: pd.DataFrame, gold: pd.DataFrame | None) -> list[str]:
    """The columns of tokens that have several values, and those of their gold structure."""
    known = [] if gold is None else [f"gold {name}" for name in gold]
    columns = [str(each) for each in tokens if each not in WHOLE and f"gold {each}" not in known]
    return [*(each for each in columns if tokens[each].nunique() > 1), *known]


def read_field(tokens: pd.DataFrame, gold: pd.DataFrame | None, name: str) -> pd.Series:
    """The values of a field, one per token, as texts: the commonest by name, the others together."""
    if gold is not None and name.startswith("gold ") and name[5:] in gold:
        values = gold[name[5:]]
    elif name in tokens and name not in WHOLE:
        is_label = name in LABELS and WORD in tokens
        values = label_words(tokens, name) if is_label else tokens[name]
        values = values.astype(object).map(spell) if name == "token" else values
    else:
        raise unknown("field", name, [CLUSTER, *list_fields(tokens, gold)])
    return _group(values.reset_index(drop=True))


def _group(values: pd.Series) -> pd.Series:
    """Numbers in up to eight ranges of about as many values; texts, of which only the commonest keep their names."""
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST:
        edges: list[float] = np.unique(np.nanquantile(values, np.linspace(0, 1, 9))).tolist()
        names = [f"{low:g}…{high:g}" for low, high in pairwise(edges)]
        ranges = pd.cut(values.astype(float), edges, labels=names, include_lowest=True)
        return ranges.astype(object).fillna(NONE)
    texts = values.astype(object).map(visible, na_action="ignore").astype(object).fillna(NONE)
    return texts.where(texts.isin(texts.value_counts().index[:MOST]), OTHER)


def order_values(values: pd.Series) -> list[str]:
    """The values in the order in which they are given colors: numbers by size, texts by count."""
    found = values.value_counts().index.tolist()
    if all(each.isdigit() for each in found):
        return sorted(found, key=int)
    return sorted(found, key=lambda each: each in (OTHER, NONE))
