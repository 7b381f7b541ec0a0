"""The glossary of columns (docs/columns.md): which names of columns it does not explain."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

ROW = re.compile(r"^\| (`.*?`) \|", re.M)
END = r"(?:_withheld)?(?:_low|_high)?"


@cache
def _pattern() -> re.Pattern[str]:
    page = (Path(__file__).parents[2] / "docs/columns.md").read_text("utf-8")
    names = [name for cell in ROW.findall(page) for name in re.findall("`(.*?)`", cell)]
    known = [re.escape(name).replace("…", ".+") for name in names if name[:2] not in ("…_", "…")]
    return re.compile(f"(?:{'|'.join(known)}){END}")


def find_unexplained(names: Iterable[object]) -> list[str]:
    """The names that stand in no first cell of the page."""
    return sorted({name for name in map(str, names) if not _pattern().fullmatch(name)})


def find_unexplained_in(folder: Path) -> dict[str, list[str]]:
    """The names of columns in a folder's tables that the page does not explain, by file."""
    tables = [(path, pd.read_csv(path, nrows=0)) for path in folder.rglob("*.csv")]
    tables += [(path, pd.read_parquet(path)) for path in folder.rglob("*.parquet")]
    found = {path.name: find_unexplained(table.columns) for path, table in tables}
    return {name: columns for name, columns in found.items() if columns}
