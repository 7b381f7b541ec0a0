"""Sections of a report: text and tables of results beside their controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from tprprobe.analyses.clustering import Clusters
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
