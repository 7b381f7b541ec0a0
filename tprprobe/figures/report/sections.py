"""Sections of a report: text and tables of results beside their controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from tprprobe.analyses.binding_problem import demonstrate, measure_degrees
from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.run import Naming
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.figures.binding import demonstration_table
from tprprobe.figures.reconstruction import reconstruction_table
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store

GROUP = ["model", "vectors", "layer"]


@dataclass(frozen=True)
class Section:
    """A heading, a text (its line breaks are kept), figures by caption, and tables."""

    heading: str
    text: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Sequence[pd.DataFrame | Table] = ()


def tell_clusters(heads: Sequence[Clusters], figures: Mapping[str, Figure]) -> Section:
    """The stability of some heads' clusters, and the contents of the first head's."""
    stability = pd.DataFrame(
        {
            "site": [each.site for each in heads],
            "head": ["–" if each.head is None else str(each.head) for each in heads],
            "clusters": [each.k for each in heads],
            "stability (ARI of seeds)": [each.stability for each in heads],
        }
    )
    first = heads[0]
    of = first.site if first.head is None else f"{first.site}, head {first.head}"
    text = (
        "k-means on the vectors of every token. Raw vectors have an arbitrary scale in each dimension "
        "(the network computes the same for any), so clusters are of standardised ones unless a figure "
        f"says raw. The second table is of {of}."
    )
    return Section("Clusters", text, figures, [stability, first.summary])


def tell_names(naming: Naming) -> Section:
    """The names of clusters, and whether clusters tell numerators better than the surface rule."""
    own = naming.summary[naming.summary["model"] == "trained"]
    roles = own[own["vectors"] == own["vectors"].iloc[0]]
    best = roles.sort_values(["with_polarity", "coverage"]).iloc[-1]
    surface = roles["surface"].iloc[0]
    right = naming.facts["discordant_questions"]
    gate = (
        "" if not right["n"] else f" (it answered {right['exact_match']:.0%} of {right['n']} right)"
    )
    absent = ", ".join(naming.facts["missing"])
    text = (
        "A cluster's name is the shortest conjunction of exact facts about characters that explains it, "
        "chosen on half of the questions and scored on the other; without one that holds it is "
        f"{UNNAMED}.\nNumerator or denominator can be guessed without looking far: the rule 'denominator if "
        f"right after /' is right on {surface:.1%} of these digits, and never on discordant ones, whose "
        f"place in the whole fraction is the opposite{gate}. The table has what clusters alone tell, "
        "held out, mean over heads: what any projection of the same states shows is no property of roles."
        + (f"\nNot in this run: {absent}." if absent else "")
    )
    return Section(
        "What the clusters stand for", text, {}, [_polarity(naming), _named(naming, best)]
    )


def _polarity(naming: Naming) -> pd.DataFrame:
    rows = []
    for (model, vectors, layer), heads in naming.summary.groupby(GROUP, sort=False):
        rows.append(
            {
                "model": model,
                "clusters of": vectors,
                "layer": str(layer),
                "heads": len(heads),
                "named": f"{heads['named'].sum():.0f} of {heads['clusters'].sum():.0f}",
                "numerator or denominator told": _percent(heads["accuracy"]),
                "discordant digits": _percent(heads["accuracy_discordant"]),
            }
        )
    return pd.DataFrame(rows)


def _named(naming: Naming, of: pd.Series) -> pd.DataFrame:
    keys = ["model", "vectors", "layer", "head", "k"]
    names = naming.names[(naming.names[keys] == of[keys]).all(axis=1)]
    names = names[names["name"] != UNNAMED].sort_values("size", ascending=False)
    return pd.DataFrame(
        {
            f"layer {of['layer']}, head {of['head']}": [f"cluster {i}" for i in names["cluster"]],
            "stands for": names["name"],
            "tokens": names["size"],
            "precision": _with_interval(names, "precision"),
            "recall": _with_interval(names, "recall"),
        }
    )


def tell_reconstruction(store: Store, layer: int = -1) -> Section:
    """The share of a state that one head's value vector keeps, held out, beside controls."""
    table = reconstruction_table(reconstruct(store, layer), layer)
    return Section("What a head's value keeps of the state", table.caption, {}, [table])


def tell_binding() -> Section:
    """The binding problem, shown exactly."""
    table = demonstration_table(demonstrate(), measure_degrees())
    text = (
        "Two layers of attention: a attends to b and c to d, or a to d and c to b; then e attends to a and "
        "c. Does e's state tell the two apart? With standard attention and equal weights it cannot; roles "
        f"of a and c that differ tell them apart.\n{table.caption}"
    )
    return Section("The binding problem, exactly", text, {}, [table])


def _percent(values: pd.Series) -> str:
    return "–" if values.isna().all() else f"{values.mean():.1%}"


def _with_interval(table: pd.DataFrame, name: str) -> pd.Series:
    """Texts: value [low, high]."""
    texts = [interval_text(read_interval(row, name), ".2f") for _, row in table.iterrows()]
    return pd.Series(texts, table.index)
