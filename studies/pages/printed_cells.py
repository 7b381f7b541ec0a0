"""The cells of the published table of decompositions beside ours, drawn."""

import pandas as pd

from studies.tpdn.cells import MODEL, compare
from studies.tpdn.substitutions import SCHEMES
from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, Drawing, drawing, tidy

ROOM = 0.04  # around the unit square


def draw_cells(table: pd.DataFrame, able: float) -> Drawing:
    """Substitution here against print, a point a cell of the table; pale where the model itself is right on
    less than ``able`` of new sequences.
    """
    comparison = compare(table)
    cells = comparison.cells
    figure = drawing(5.5, 4.3)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=1)
    for name, color in zip(SCHEMES, palette(len(SCHEMES)), strict=True):
        scheme_cells = cells[cells["roles"] == name]
        is_able = scheme_cells["accuracy"] >= able
        points = {"s": 16, "color": color, "linewidths": 0}
        axes.scatter(
            scheme_cells["published"][is_able],
            scheme_cells["substitution"][is_able],
            label=name,
            **points,
        )
        axes.scatter(
            scheme_cells["published"][~is_able],
            scheme_cells["substitution"][~is_able],
            alpha=0.3,
            **points,
        )
    axes.set(
        xlim=(-ROOM, 1 + ROOM),
        ylim=(-ROOM, 1 + ROOM),
        aspect="equal",
        xlabel="printed: share of sequences written right",
        ylabel="here",
    )
    tidy(axes, "Decoders fed with decompositions")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False, fontsize=8)
    figure.put_below(
        [
            f"A point: a scheme of roles in one of {cells.groupby(MODEL).ngroups} kinds of model, mean of "
            f"{table['seed'].nunique()} seeds; median distance from the line {comparison.median:.3f}.",
            f"Pale: the model itself is right on less than {able:.2f} of new sequences.",
        ]
    )
    return figure
