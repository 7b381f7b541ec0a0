"""Statements: a sentence with numbers and intervals, and links to the pages that show what it names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.figures.labels import site_label
from tprprobe.statistics import Row, interval_text, read_interval
from tprprobe.statistics import write_interval as number  # noqa: F401


@dataclass(frozen=True)
class Link:
    """A page with its choices: ``query`` is what its address says."""

    label: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """A sentence, the pages that show what it names, and what the overview says instead."""

    text: str
    links: tuple[Link, ...] = ()
    brief: str = ""

    def __str__(self) -> str:
        return self.text


def percent(row: Row, name: str = "value", digits: int = 1) -> str:
    """A share with its 95 % interval, in percent: ``78.9 % [71.0, 85.1]``."""
    return interval_text(read_interval(row, name), f".{digits}f", 100, " %")


def top(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row with the largest value of a column, the first of several."""
    return rows.iloc[int(np.nanargmax(rows[column].to_numpy(float)))]


def link_vectors(site: str, head: Any = None, label: str = "", **query: str) -> Link:
    """The page that shows the vectors of a site and head."""
    of_head = {} if head is None or pd.isna(head) or head < 0 else {"head": str(int(head))}
    label = label or f"Show {site_label(site, head)}"
    return Link(label, "roles", {"site": str(site), **of_head, **query})
