"""Sections of a report: text and tables of results beside their controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.run import Naming
from tprprobe.figures.naming import named_table, polarity_table
from tprprobe.figures.tables import Table


@dataclass(frozen=True)
class Section:
    """A heading, a text (its line breaks are kept), figures by caption, and tables.

    ``folded`` are tables that open when their line is clicked.
    """

    heading: str
    text: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Sequence[pd.DataFrame | Table] = ()
    folded: Mapping[str, pd.DataFrame | Table] = field(default_factory=dict)


def clusters_section(heads: Sequence[Clusters], figures: Mapping[str, Figure]) -> Section:
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
        "(the network computes the same for any), so vectors are standardized before clustering, unless a "
        f"figure says raw. The second table is about {of}."
    )
    return Section("Clusters", text, figures, [stability, first.summary])


def names_section(naming: Naming) -> Section:
    """The names of clusters, and whether clusters tell numerators better than the surface rule."""
    best = naming.heads.sort_values(["with_polarity", "coverage"]).iloc[-1]
    polarity = polarity_table(naming)
    text = (
        "A cluster's name is the shortest conjunction of exact facts about characters that explains it, "
        "chosen on half of the questions and scored on the other; a cluster without such a name is "
        f"{UNNAMED}.\nNumerator or denominator can be guessed without looking far: the rule 'denominator if "
        f"right after /' is right on {best['surface']:.1%} of these digits. Discordant digits have the "
        "opposite place in the whole fraction to the one in their own division. The table shows how well "
        "clusters alone predict the place, held out, mean over heads (best head). If projections of the same "
        f"states do so too, it is no property of roles.\n{polarity.caption}"
    )
    return Section("What the clusters mean", text, {}, [polarity, _named(naming, best)])


def _named(naming: Naming, of: pd.Series) -> Table:
    """The named clusters of a head, the largest first."""
    keys = ["layer", "head", "k"]
    names = naming.clusters[(naming.clusters[keys] == of[keys]).all(axis=1)]
    names = names[names["name"] != UNNAMED].sort_values("size", ascending=False)
    return named_table(names, f"Named clusters of {of['site']}, head {of['head']}")
