"""Names of clusters: the strongest, and how many of every head have one."""

from collections.abc import Iterator

import pandas as pd

from tprprobe.analyses.naming import load_named as read_names
from tprprobe.analyses.naming.name_counts import compare_names, count_names, quote, select_named
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.statements import Statement, link_vectors, percent
from tprprobe.dashboard.view import View
from tprprobe.figures.labels import site_label
from tprprobe.figures.naming import WORD_KEYS
from tprprobe.figures.naming import words_table as words_table
from tprprobe.figures.scenes import Dots
from tprprobe.store import Store
from tprprobe.store.token_texts import visible

MAX_ROLES = 3  # that the overview names
COLUMNS = ["name", "site", "head", "cluster", "k", "precision", "precision_low", "precision_high"]
COLUMNS += ["recall", "recall_low", "recall_high", "coverage", "f05"]


def show_names(clusters: pd.DataFrame) -> View:
    """The share of tokens in clusters that have a name, head by head, beside the baseline model."""
    counts = count_names(clusters, WORD_KEYS)
    names = [
        site_label(site, head) for site, head in zip(counts["site"], counts["head"], strict=True)
    ]
    rows = counts[["named", "clusters"]].assign(name=names, group=counts["model"])
    rows = rows.assign(**dict.fromkeys(("value", "low", "high"), counts["coverage"]))
    return View("Tokens in clusters that have a name", rows, Dots(rows, "share of tokens"))


def summarize_names(rows: pd.DataFrame) -> Statement:
    """How many clusters have a name, model by model, from the data of :func:`show_names`."""
    sums = rows.groupby("group", sort=False)[["named", "clusters"]].sum().astype(int)
    counts = {str(model): (named, n) for model, named, n in sums.itertuples()}
    return Statement(compare_names(counts))


def list_named(runs: Runs, store: Store) -> pd.DataFrame:
    """Every named cluster of the trained model, the surest first: name, site, head, cluster of k, measures."""
    tables = [
        table.assign(k=table.groupby(WORD_KEYS, dropna=False)["cluster"].transform("size"))
        for table in map(read_names, runs.beside(store, "names", "word-names").values())
    ]
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.concat(tables, ignore_index=True)
    rows = select_named(rows[rows["model"] == TRAINED])
    return rows.sort_values("f05", ascending=False)[COLUMNS].reset_index(drop=True)


def find_roles(names: pd.DataFrame) -> Iterator[Statement]:
    """The surest named roles, each name once."""
    for row in names.drop_duplicates("name").head(MAX_ROLES).to_dict("records"):
        measures = f"precision {percent(row, 'precision', 0)}, recall {percent(row, 'recall', 0)}"
        query = {"mark": f"cluster:{row['cluster']}", "k": str(row["k"])}
        link = link_vectors(row["site"], row["head"], "Show on Roles", **query)
        where = site_label(row["site"], row["head"])
        yield Statement(
            f"{quote(visible(row['name'], 90))} names a cluster of {where}: {measures}, held out",
            (link,),
        )
