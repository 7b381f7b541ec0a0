"""Tables of cluster names: by head, by polarity beside the controls, and by name."""

from typing import Any

import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED, count_names
from tprprobe.analyses.naming.run import Naming
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.figures.tables import Table
from tprprobe.gold.structure import POLARITIES
from tprprobe.statistics import Interval, interval_text, read_interval

PREDICTED = {
    "accuracy": "all digits",
    "accuracy_discordant": "discordant",
    "accuracy_answered": "discordant, answered right",
}
SCORES = PREDICTED | {
    "polarity_given_place": "AMI given place",
    "polarity_given_surface": "AMI given surface",
}
RULES = {"majority": "majority rule", "surface": "surface rule"}
KINDS = ["model", "vectors", "layer", "k"]
WORD_KEYS = ["site", "head", "model"]
COUNTS = ["heads", "named", "tell polarity"]


def heads_table(naming: Naming) -> Table:
    """One row per head: the share of its clusters with a name, and the polarity that they tell."""
    rows = []
    for row in naming.heads.sort_values(["layer", "head", "k"]).to_dict("records"):
        first = {"site": "", "k": str(row["k"]), "layer": str(row["layer"])}
        polarity = {"tell polarity": f"{row['with_polarity']:.0f}"}
        scores = {name: _interval(row, column) for column, name in SCORES.items()}
        rows.append(first | _head_cells(row, polarity) | scores)
    return Table(pd.DataFrame(rows), "Heads whose clusters have names")


def word_heads_table(named: pd.DataFrame) -> Table:
    """One row per head: how many clusters of labelled words have names, beside the untrained twin."""
    counts = count_names(named, WORD_KEYS).to_dict("records")
    rows = [
        {"site": "", "head": "", "model": row["model"]} | _head_cells(row, {}) for row in counts
    ]
    return Table(pd.DataFrame(rows), "Heads whose clusters of words have names")


def _head_cells(row: Any, beside: dict[str, str]) -> dict[str, str]:
    """How many of a head's clusters have a name, and ``beside`` that what else they are."""
    return {
        "site": str(row["site"]),
        "head": _head(row["head"]),
        "named": f"{row['named']:.0f} of {row['clusters']:.0f}",
        **beside,
        "tokens named": f"{row['coverage']:.0%}",
        "stability (ARI)": f"{row['stability']:.2f}",
    }


def polarity_table(naming: Naming) -> Table:
    """The accuracy of clusters alone on numerators and denominators, held out: mean over heads (best head).

    A row a rule that needs no cluster, then a row a kind of vectors and layer.
    """
    rows = [_rule(naming, rule) for rule in RULES]
    groups: Any = naming.summary.groupby(KINDS, sort=False)
    for place, heads in groups:
        named = f"{heads['named'].sum():.0f} of {heads['clusters'].sum():.0f}"
        about = (*map(str, place), str(len(heads)), named, f"{heads['with_polarity'].sum():.0f}")
        scores = {name: _spread(heads[column]) for column, name in SCORES.items()}
        rows.append(dict(zip([*KINDS, *COUNTS], about, strict=True)) | scores)
    title = "Numerator or denominator, predicted from clusters alone: held out, mean over heads (best head)"
    return Table(pd.DataFrame(rows).fillna("–"), title, _questions_note(naming), (len(RULES),))


def _rule(naming: Naming, rule: str) -> dict[str, str]:
    """The row of a rule's accuracy on the same digits."""
    first = naming.summary.iloc[0]
    values = {name: first[column.replace("accuracy", rule)] for column, name in PREDICTED.items()}
    cells = {name: "–" if pd.isna(value) else f"{value:.3f}" for name, value in values.items()}
    return dict.fromkeys([*KINDS, *COUNTS], "–") | {"vectors": RULES[rule]} | cells


def _questions_note(naming: Naming) -> str:
    """The numbers of questions and of right answers, and the missing controls, as a sentence."""
    lines = []
    for name, of in (("questions", ""), ("discordant_questions", " with discordant numbers")):
        if (each := naming.facts[name])["n"]:
            right = Interval(each["exact_match"], *each["exact_match_interval"])
            lines += [f"{each['n']} questions{of}, {interval_text(right, '.1%')} answered right"]
    if naming.facts["missing"]:
        lines.append(f"Not in this run: {', '.join(naming.facts['missing'])}")
    return ".\n".join(lines) + "."


def polar_table(naming: Naming) -> Table:
    """The clusters whose name has a polarity, best first."""
    with_polarity = naming.clusters["name"].str.contains("|".join(POLARITIES))
    rows = naming.clusters.loc[with_polarity].sort_values("f05", ascending=False)
    return named_table(rows, "Clusters named by polarity")


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
    known = named[(named["name"] != UNNAMED) & (named["model"] == TRAINED)]
    known = known.sort_values(["site", "head", "coverage"], ascending=[True, True, False])
    caption = "Named by exact labels on one half of the documents, scored on the other."
    return named_table(known, "Named clusters of words", caption)


def _head(head: Any) -> str:
    return "–" if pd.isna(head) else str(int(head))


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    return [_interval(row, name, ".2f") for _, row in rows.iterrows()]


def _interval(row: Any, name: str, form: str = ".3f") -> str:
    return interval_text(read_interval(row, name), form)


def _spread(values: pd.Series) -> str:
    return "–" if values.isna().all() else f"{values.mean():.3f} ({values.max():.3f})"
