"""Tables of cluster names: by head, and by name."""

import pandas as pd

from tprprobe.analyses.clustering.clusters import list_tokens
from tprprobe.analyses.naming.name_counts import compare_names, count_by_model, list_repeated
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.places import compare_places, count_places
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.analyses.naming.word_names import AGREEMENT
from tprprobe.figures.clusters import label_named, quote_sign
from tprprobe.figures.labels import site_label
from tprprobe.figures.tables import Table
from tprprobe.statistics import write_interval

WORD_KEYS = ["site", "head", "model"]


def summarize_words(cluster_names: pd.DataFrame) -> str:
    """How many clusters of words have a name beside the baseline model, in all and, of several sites or heads, at each of them."""
    by_model = cluster_names.groupby("model", sort=False)["name"].agg(count_places).to_dict()
    of_trained = by_model.pop(TRAINED, 0)
    compared = compare_names(count_by_model(cluster_names))
    lines = [f"{compared} {compare_places(of_trained, [*by_model.values()])}".strip()]
    lines += _list_agreements(cluster_names)
    places = list(cluster_names.groupby(["site", "head"], sort=False, dropna=False))
    if len(places) == 1:
        lines[0] += list_repeated(cluster_names.loc[cluster_names["model"] == TRAINED, "name"])
    else:
        lines += ["", *(f"{site_label(*place)}: {_write_counts(rows)}" for place, rows in places)]
    by_model = cluster_names.query("model != @TRAINED").groupby(
        ["model", "site", "head"], sort=False, dropna=False
    )
    for (model, *place), rows in by_model:
        if labels := label_named(rows):
            names = ", ".join(f"{label}: {name}" for label, name in labels.items())
            lines.append(
                f"Names of clusters of the baseline model ({model}), with their precision, {site_label(*place)}: {names}."
            )
    return "\n".join([*lines, ""])


def _list_agreements(cluster_names: pd.DataFrame) -> list[str]:
    """How far clusters agree with the labels of every task, at the site or head where they do most, beside the baseline model there."""
    lines = []
    for column in filter(lambda name: name.startswith(AGREEMENT), map(str, cluster_names)):
        by_place = cluster_names.groupby(["model", "site", "head"], sort=False, dropna=False)
        table = by_place[column].first().unstack("model").reset_index()
        best = table.iloc[table[TRAINED].to_numpy().argmax()]
        baselines = [model for model in table if model not in ("site", "head", TRAINED)]
        beside = "; ".join(
            f"{best[model]:.2f} in the baseline model ({model})" for model in baselines
        )
        lines.append(
            f"Clusters agree with {column.removeprefix(AGREEMENT)} {'most ' * (len(table) > 1)}at {site_label(best['site'], best['head'])}: adjusted mutual "
            f"information {best[TRAINED]:.2f}{beside and f'; {beside}'} (0: chance, 1: the same groups)."
        )
    return lines


def _write_counts(cluster_names: pd.DataFrame) -> str:
    counts = count_by_model(cluster_names).items()
    return "; ".join(f"{model} {named} of {n_clusters}" for model, (named, n_clusters) in counts)


def words_table(cluster_names: pd.DataFrame) -> Table:
    """Clusters of the trained model: most frequent tokens, name, precision, recall, the documents that these were measured on,
    or why a cluster has no name.
    """
    rows = cluster_names[cluster_names["model"] == TRAINED]
    rows = rows.sort_values(["layer", "head", "cluster"], kind="stable")
    places = zip(rows["site"], rows["head"], rows["cluster"], strict=True)
    names, is_named = rows["name"].map(quote_sign), rows["name"] != UNNAMED
    cells = {
        "cluster": [f"{site_label(site, head)}: {cluster}" for site, head, cluster in places],
        **(
            {"most frequent tokens": rows["commonest"].map(list_tokens)}
            if "commonest" in rows
            else {}
        ),
        "name": names,
        "precision": _intervals(rows, "precision").where(is_named, "–"),
        "recall": _intervals(rows, "recall").where(is_named, "–"),
        "documents": rows["documents"].astype(str) if "documents" in rows else "–",
        "unnamed because": rows.get("unnamed_because", "–"),
    }
    caption = "Measured on the half of the documents on which names were not chosen; clusters in fewer than ten of them have no intervals."
    return Table(pd.DataFrame(cells), "Names of clusters of words", caption)


def _intervals(rows: pd.DataFrame, name: str) -> pd.Series:
    return pd.Series([write_interval(row, name, ".2f") for _, row in rows.iterrows()], rows.index)
