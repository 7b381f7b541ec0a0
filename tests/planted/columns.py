"""Names of columns that the glossary (the tables of columns in docs) does not explain."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tprprobe.dashboard.glossary import explain_column


def find_unexplained(names: Iterable[object]) -> list[str]:
    """The names that stand in no first cell of the page."""
    return sorted({name for name in map(str, names) if not explain_column(name)})


LABELS = "labels.parquet"  # whose columns are named by site, head and k


def find_unexplained_in(folder: Path) -> dict[str, list[str]]:
    """The names of columns in a folder's tables that the page does not explain, by file."""
    tables = [(path, pd.read_csv(path, nrows=0)) for path in folder.rglob("*.csv")]
    files = (path for path in folder.rglob("*.parquet") if path.name != LABELS)
    tables += [(path, pd.read_parquet(path)) for path in files]
    unexplained = {path.name: find_unexplained(table.columns) for path, table in tables}
    return {name: columns for name, columns in unexplained.items() if columns}
