"""The one long table of a run of naming, and the tables that it is read as: names, agreement, decoding, ones, summary."""

from collections.abc import Mapping

import pandas as pd

from tprprobe.analyses.clustering.clusters import ESTIMATOR
from tprprobe.analyses.naming.name_counts import TRAINED
from tprprobe.evaluation.results import Results, join_tables, melt

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
