"""Figures: results in, matplotlib figures and tables out; no models and no files are read here."""

from tprprobe.figures.accuracy import module_bars, table1
from tprprobe.figures.attention import attention_examples, attention_matrix, attention_rows
from tprprobe.figures.clusters import role_clusters
from tprprobe.figures.curves import learning_curve
from tprprobe.figures.grids import attention_grid
from tprprobe.figures.maps import map_points
from tprprobe.figures.style import save

__all__ = [
    "attention_examples",
    "attention_grid",
    "attention_matrix",
    "attention_rows",
    "learning_curve",
    "map_points",
    "module_bars",
    "role_clusters",
    "save",
    "table1",
]
