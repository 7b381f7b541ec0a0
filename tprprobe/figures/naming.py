"""Tables of cluster names: by head, and by name."""

import pandas as pd

from tprprobe.analyses.naming.names import count_names, explain_unnamed
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.figures.labels import site_label
from tprprobe.figures.tables import Table
from tprprobe.statistics import Row, interval_text, read_interval

WORD_KEYS = ["site", "head", "model"]


def summarize_words(cluster_names: pd.DataFrame) -> str:
    """How many clusters of words have a name, model by model."""
    counts = count_names(cluster_names, ["model"])
    shares = [
        f"{row['model']} {row['named']:.0f} of {row['clusters']:.0f}"
        for _, row in counts.iterrows()
    ]
    clusters = "Clusters of words whose name holds on documents on which it was not chosen"
    return f"{clusters}: {'; '.join(shares)}."


def words_table(cluster_names: pd.DataFrame) -> Table:
    """Clusters of the trained model for which a name was proposed: cluster, name, precision, recall, and why it has none."""
    rows = cluster_names[(cluster_names["model"] == TRAINED) & (cluster_names["candidate"] != "")]
    rows = rows.sort_values(["q_value", "coverage"], ascending=[True, False])
    places = zip(rows["site"], rows["head"], rows["cluster"], strict=True)
    cells = {
        "cluster": [f"{site_label(site, head)}: {cluster}" for site, head, cluster in places],
        "name": rows["candidate"],
        "precision": _intervals(rows, "precision"),
        "recall": _intervals(rows, "recall"),
        "unnamed because": [explain_unnamed(row) for _, row in rows.iterrows()],
    }
    n_other = int(((cluster_names["model"] == TRAINED) & (cluster_names["candidate"] == "")).sum())
    caption = f"{n_other} clusters of the trained model: no label fits on the first half of the documents."
    return Table(pd.DataFrame(cells), "Names of clusters of words", caption * bool(n_other))


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    return [interval_cell(row, name, ".2f") for _, row in rows.iterrows()]


def interval_cell(row: Row, name: str, form: str = ".3f") -> str:
    return interval_text(read_interval(row, name), form)
