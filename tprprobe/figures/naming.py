"""Tables of cluster names: by head, and by name."""

from typing import Any

import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED, count_names
from tprprobe.analyses.naming.run import Naming
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.figures.tables import Table
from tprprobe.statistics import Interval, interval_text, read_interval

WORD_KEYS = ["site", "head", "model"]


def word_heads_table(named: pd.DataFrame) -> Table:
    """One row per head: how many clusters of labelled words have names, beside the baseline model."""
    counts = count_names(named, WORD_KEYS).to_dict("records")
    rows = [{"site": "", "head": "", "model": row["model"]} | head_cells(row) for row in counts]
    return Table(pd.DataFrame(rows), "Heads whose clusters of words have names")


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


def words_table(named: pd.DataFrame) -> Table:
    """One row per named cluster of the trained model, the largest of every head first."""
    rows = named[(named["name"] != UNNAMED) & (named["model"] == TRAINED)]
    rows = rows.sort_values(["site", "head", "coverage"], ascending=[True, True, False])
    caption = "Named by exact labels on one half of the documents, scored on the other."
    return named_table(rows, "Named clusters of words", caption)


def _head(head: Any) -> str:
    return "–" if pd.isna(head) else str(int(head))


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    return [interval_cell(row, name, ".2f") for _, row in rows.iterrows()]


def interval_cell(row: Any, name: str, form: str = ".3f") -> str:
    return interval_text(read_interval(row, name), form)
