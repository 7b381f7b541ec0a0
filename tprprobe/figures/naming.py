"""Tables of cluster names: by head, and by name."""

import pandas as pd

from tprprobe.analyses.naming.names import count_names, explain_unnamed
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.figures.labels import site_label
from tprprobe.figures.tables import Table
from tprprobe.statistics import write_interval

WORD_KEYS = ["site", "head", "model"]


def summarize_words(cluster_names: pd.DataFrame) -> str:
    """How many clusters of words have a name, model by model and, of several sites or heads, at each of them; and whether
    the names can be due to training.
    """
    by_model = count_names(cluster_names, ["model"])
    lines = [
        f"Clusters of words whose name holds on documents on which it was not chosen: {_write_counts(by_model)}."
    ]
    groups = list(cluster_names.groupby(["site", "head"], sort=False, dropna=False))
    if len(groups) > 1:
        places = [
            f"{site_label(site, head)}: {_write_counts(count_names(rows, ['model']))}"
            for (site, head), rows in groups
        ]
        lines += ["\n".join(["", *places, ""])]
    named = by_model.set_index("model")["named"]
    rivals = named.drop(TRAINED, errors="ignore")
    if TRAINED in named and rivals.empty:
        lines += [
            "The store has no baseline model, so nothing tells what training adds to these names."
        ]
    elif TRAINED in named and rivals.max() >= named[TRAINED]:
        lines += [
            "The baseline model has at least as many names: these names are no evidence of what training adds."
        ]
    elif TRAINED in named:
        lines += [
            f"The trained model has {named[TRAINED] - rivals.max()} more names. Clusters depend on each other, so no test compares these counts."
        ]
    return "\n".join(lines)


def _write_counts(counts: pd.DataFrame) -> str:
    rows = counts[["model", "named", "clusters"]].itertuples(index=False)
    return "; ".join(f"{model} {named} of {clusters}" for model, named, clusters in rows)


def words_table(cluster_names: pd.DataFrame) -> Table:
    """Clusters of the trained model for which a name was proposed: cluster, name, the tokens and documents that it was measured on,
    precision, recall, and why it has none.
    """
    rows = cluster_names[(cluster_names["model"] == TRAINED) & (cluster_names["candidate"] != "")]
    rows = rows.sort_values(["layer", "head", "cluster"], kind="stable")
    places = zip(rows["site"], rows["head"], rows["cluster"], strict=True)
    cells = {
        "cluster": [f"{site_label(site, head)}: {cluster}" for site, head, cluster in places],
        "name": rows["candidate"],
        "tokens": rows["size"].astype(str),
        "documents": rows["documents"].astype(str) if "documents" in rows else "–",
        "precision": _intervals(rows, "precision"),
        "recall": _intervals(rows, "recall"),
        "unnamed because": [explain_unnamed(row) for _, row in rows.iterrows()],
    }
    n_other = int(((cluster_names["model"] == TRAINED) & (cluster_names["candidate"] == "")).sum())
    caption = "Measured on the other half of the documents; clusters in fewer than ten of them have no intervals."
    if n_other:
        caption += f" {n_other} clusters of the trained model: no label fits on the first half of the documents."
    return Table(pd.DataFrame(cells), "Names of clusters of words", caption)


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    return [write_interval(row, name, ".2f") for _, row in rows.iterrows()]
