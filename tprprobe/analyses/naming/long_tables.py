"""The long table of a run of naming: names, agreement with fields, and what is decoded, beside their controls."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tprprobe.analyses.clustering.clusters import ESTIMATOR
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.evaluation.results import FILE, NAMES, join_tables, melt

FURTHER = ("vectors", "k", "cluster", "name", "subset", "polarity")  # columns that name a row
OF_NAMES = ("precision", "recall", "f05", "lift", "npmi", "coverage", "q_value")
NULLS = {"field": "task", "null": "rival", "null_mean": "rival_value", "p_value": "p"}


def list_results(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The file of the long table of names, agreement, decoding and ones; vectors that were not asked for are controls."""
    asked = tables["names"]["vectors"].iloc[0]
    named = {name: _name_controls(table, asked) for name, table in tables.items() if len(table)}
    parts = [_melt(named["names"].assign(task="names"), OF_NAMES)]
    if "agreement" in named:
        agreement = named["agreement"].rename(columns=NULLS)
        agreement["beyond"] = agreement["value"] - agreement["rival_value"]
        for metric, rows in agreement.groupby("measure"):
            parts.append(_melt(rows, ("value",)).assign(metric=metric))
    if "decoding" in named:
        decoding = named["decoding"]
        decoding = decoding.assign(task="polarity", estimator=decoding["predictor"])
        parts.append(_melt(decoding, ("accuracy", "gain")))
    if "ones" in named:
        parts.append(_melt(named["ones"].assign(task="ones", n=np.nan), ("precision",)))
    return {FILE: join_tables(parts)}


def list_word_results(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The file of the long table of names of words."""
    control = table["model"].replace(TRAINED, "")
    return {FILE: _melt(table.assign(task="names", control=control), (*OF_NAMES, "stability"))}


def _name_controls(table: pd.DataFrame, asked: str) -> pd.DataFrame:
    """The table with a control for every row: another model, else other vectors than those that were asked for."""
    vectors = table["vectors"].where(table["vectors"] != asked, "")
    return table.assign(control=table["model"].where(table["model"] != TRAINED, vectors))


def _melt(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    table = table if "estimator" in table else table.assign(estimator=ESTIMATOR)
    names = {name: name for name in (*NAMES, *FURTHER) if name in table}
    return melt(table, names, [metric for metric in metrics if metric in table])
