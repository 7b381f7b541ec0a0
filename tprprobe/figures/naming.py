"""Tables of cluster names: by head, and by name."""

from typing import Any

import pandas as pd

from tprprobe.analyses.naming.names import RATE, UNNAMED, count_names
from tprprobe.analyses.naming.run import Naming
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.estimators.clusters.names import PRECISION
from tprprobe.figures.labels import site_label
from tprprobe.figures.tables import Table
from tprprobe.statistics import Interval, interval_text, read_interval

WORD_KEYS = ["site", "head", "model"]


def head_cells(row: Any, extra: dict[str, str] | None = None) -> dict[str, str]:
    """How many of a head's clusters have a name, and extra cells behind that."""
    return {
        "site": str(row["site"]),
        "head": _head(row["head"]),
        "named": f"{row['named']:.0f} of {row['clusters']:.0f}",
        **(extra or {}),
        "tokens named": f"{row['coverage']:.0%}",
        "stability (ARI)": f"{row['stability']:.2f}",
    }


def questions_note(naming: Naming) -> str:
    """The numbers of questions and of right answers, and the missing controls, as a sentence."""
    lines = []
    for name, kind in (("questions", ""), ("discordant_questions", " with discordant numbers")):
        if (counts := naming.facts[name])["n"]:
            right = Interval(counts["exact_match"], *counts["exact_match_interval"])
            share = interval_text(right, ".1%")
            lines.append(f"{counts['n']} questions{kind}, {share} answered right")
    if naming.facts["missing"]:
        lines.append(f"Not in this run: {', '.join(naming.facts['missing'])}")
    return ".\n".join(lines) + "."


def named_table(names: pd.DataFrame, title: str, caption: str = "") -> Table:
    """Clusters and what they stand for, with held-out precision and recall, a row a cluster."""
    cells = {
        "site": names["site"],
        "head": names["head"].map(_head),
        **({"k": names["k"].astype(str)} if "k" in names else {}),
        "cluster": names["cluster"].astype(str),
        "stands for": names["name"],
        "tokens": names["size"].astype(str),
        "precision": _intervals(names, "precision"),
        "recall": _intervals(names, "recall"),
    }
    if "commonest" in names:
        cells["most frequent tokens"] = names["commonest"]
    return Table(pd.DataFrame(cells), title, caption if len(names) else "There are none.")


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


def explain_unnamed(row: Any) -> str:
    """Why a proposed name does not hold; empty where it does."""
    if row["name"] != UNNAMED:
        return ""
    if pd.isna(row["precision"]):
        return "it has no words in the other half of the documents"
    if row["precision"] < PRECISION:
        return f"precision below {PRECISION:g}"
    if row["lift"] <= 1:
        return "as frequent in other clusters"
    return f"q = {row['q_value']:.2g} above {RATE:g}: too few documents"


def _head(head: Any) -> str:
    return "–" if pd.isna(head) else str(int(head))


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    return [interval_cell(row, name, ".2f") for _, row in rows.iterrows()]


def interval_cell(row: Any, name: str, form: str = ".3f") -> str:
    return interval_text(read_interval(row, name), form)
