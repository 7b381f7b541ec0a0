"""Names of clusters: the strongest, and how many of every head have one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from tprprobe.analyses.naming import load_named as read_names
from tprprobe.analyses.naming.name_counts import compare_names, count_names, quote, select_named
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.dashboard.statements import Statement, link_vectors, number
from tprprobe.dashboard.view import View
from tprprobe.figures.cluster_labels import is_unstable
from tprprobe.figures.labels import site_label
from tprprobe.figures.naming import WORD_KEYS
from tprprobe.figures.naming import words_table as words_table
from tprprobe.figures.scenes import Dots
from tprprobe.store.token_texts import visible

MAX_ROLES = 3  # that the overview names


def show_names(clusters: pd.DataFrame) -> View:
    """The share of tokens in clusters that have a name, head by head, beside the baseline model."""
    counts = count_names(clusters, WORD_KEYS)
    names = [*map(site_label, counts["site"], counts["head"])]
    rows = counts[["named", "clusters"]].assign(name=names, group=counts["model"])
    rows = rows.assign(**dict.fromkeys(("value", "low", "high"), counts["coverage"]))
    return View("Tokens in clusters that have a name", rows, Dots(rows, "share of tokens"))


def summarize_names(rows: pd.DataFrame) -> Statement:
    """How many clusters have a name, model by model, from the data of :func:`show_names`."""
    sums = rows.groupby("group", sort=False)[["named", "clusters"]].sum().astype(int)
    counts = {str(model): (named, n) for model, named, n in sums.itertuples()}
    return Statement(compare_names(counts))


def find_roles(folders: Iterable[Path]) -> Iterator[Statement]:
    """The surest named clusters of the trained model that other random starts find again, each name once."""
    tables = [
        table.assign(k=table.groupby(WORD_KEYS, dropna=False)["cluster"].transform("size"))
        for table in map(read_names, folders)
    ]
    rows = pd.concat(tables, ignore_index=True)
    rows = select_named(rows[rows["model"] == TRAINED]).sort_values("f05", ascending=False)
    rows = rows[~is_unstable(rows)]
    for row in rows.drop_duplicates("name").head(MAX_ROLES).to_dict("records"):
        measures = (
            f"precision {number(row, 'precision', '.2f')}, recall {number(row, 'recall', '.2f')}"
        )
        query = {"mark": f"cluster:{row['cluster']}", "k": str(row["k"])}
        link = link_vectors(row["site"], row["head"], "Show on Roles", **query)
        where, name = site_label(row["site"], row["head"]), quote(visible(row["name"], 90))
        yield Statement(f"{name} names a cluster of {where}: {measures}, held out", (link,))
