"""Sections of a report: text and tables of results beside their controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from tprprobe.analyses.clustering import Clusters
from tprprobe.figures.cluster_labels import describe_stability
from tprprobe.figures.labels import site_label
from tprprobe.figures.tables import Table

FIGURES = "figures"  # the folder of figures beside a page


@dataclass(frozen=True)
class Section:
    """A heading, a text (its line breaks are kept), figures by caption, and tables.

    ``folded`` are tables that open when their line is clicked, ``lack`` is what was not found or measured, in one line, and
    ``deeper`` a command that tells more. Figures of a section with a ``name`` are also files in a folder beside the page.
    """

    heading: str
    text: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Sequence[pd.DataFrame | Table] = ()
    folded: Mapping[str, pd.DataFrame | Table] = field(default_factory=dict)
    lack: str = ""
    deeper: str = ""
    name: str = ""

    def as_text(self) -> str:
        """What the terminal shows of it: a line for the heading, the texts and the command each."""
        command = self.deeper and f"Go deeper: {self.deeper}"
        return "\n  ".join(filter(None, (self.heading, self.text, self.lack, command)))

    def as_dict(self) -> dict[str, str]:
        """The texts, and the picture beside the page."""
        names = ("heading", "text", "lack", "deeper")
        picture = f"{FIGURES}/{self.name}.png" if self.figures and self.name else ""
        return {name: getattr(self, name) for name in names} | {"picture": picture}


def clusters_section(heads: Sequence[Clusters], figures: Mapping[str, Figure]) -> Section:
    """The stability of some heads' clusters, and the contents of the first head's."""
    stability = pd.DataFrame(
        {
            "site": [roles.site for roles in heads],
            "head": ["–" if roles.head is None else str(roles.head) for roles in heads],
            "clusters": [roles.k for roles in heads],
            "stability (ARI of seeds)": [roles.stability for roles in heads],
        }
    )
    roles = heads[0]
    place = site_label(roles.site, roles.head)
    text = f"{describe_stability(roles)} Vectors are standardized before clustering, as their scale is arbitrary, unless a figure says raw."
    folded = {f"The groups at {place}": roles.summary, f"All {len(heads)} heads": stability}
    site = f"--site {roles.site}" + ("" if roles.head is None else f" --head {roles.head}")
    deeper = f"tprprobe cluster STORE {site} --k {roles.k}"
    return Section(
        "Which tokens do the clusters group?", text, figures, folded=folded, deeper=deeper
    )
