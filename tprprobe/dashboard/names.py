"""Names of clusters: how many of every head have one."""

import pandas as pd

from tprprobe.analyses.naming import load_named as load_named
from tprprobe.analyses.naming.name_counts import compare_names, count_by_model, count_names
from tprprobe.dashboard.statements import Statement
from tprprobe.dashboard.view import View
from tprprobe.figures.labels import site_label
from tprprobe.figures.naming import WORD_KEYS
from tprprobe.figures.naming import words_table as words_table
from tprprobe.figures.scenes import Dots


def show_names(clusters: pd.DataFrame) -> View:
    """The share of tokens in clusters that have a name, head by head, beside the baseline model."""
    counts = count_names(clusters, WORD_KEYS)
    names = [*map(site_label, counts["site"], counts["head"])]
    rows = counts[["named", "clusters"]].assign(name=names, group=counts["model"])
    rows = rows.assign(**dict.fromkeys(("value", "low", "high"), counts["coverage"]))
    return View("Tokens in clusters that have a name", rows, Dots(rows, "share of tokens"))


def summarize_names(clusters: pd.DataFrame) -> Statement:
    """How many clusters have a name, model by model."""
    return Statement(compare_names(count_by_model(clusters)))
