"""schlag's Sec. 6.1: the reconstruction of z beside the printed errors."""

from dataclasses import replace

import pandas as pd

from tprprobe.figures import reconstruction
from tprprobe.figures.reconstruction import ROWS
from tprprobe.figures.scenes import Grid
from tprprobe.figures.tables import Table

PRINTED = {"TP-Transformer": 0.017, "Transformer": 0.009}
CAPTION = (
    "“printed”: Schlag et al. (2019), Sec. 6.1, last of 6 layers of 8 heads of 64, trained on all modules. It does not say of what n = 100 counts, whether z "
    "was held out, or whether errors are means over dimensions, so they are not comparable with ours."
)
NOT_DRAWN = "The paper's errors, 0.017 (TP-Transformer) and 0.009 (Transformer), are not drawn: it does not say on which scale they are."


def reconstruction_table(results: pd.DataFrame, layer: int = -1) -> Table:
    """The instrument's table with the printed rows below."""
    table = reconstruction.reconstruction_table(results, layer)
    columns = reconstruction.IN_SAMPLE  # the printed errors may be of these
    names = [name for name in columns if name in table.cells] or columns
    rows = [
        {"model": f"{model} (printed)", "layer": "last", "z from": ROWS["heads"]}
        | dict.fromkeys(names, f"{error:.3f}")
        for model, error in PRINTED.items()
    ]
    cells = pd.concat([table.cells, pd.DataFrame(rows)], ignore_index=True).fillna("–")
    caption = f"{table.caption}\n{CAPTION}"
    ruled = (*table.ruled, len(table.cells))
    return replace(table, cells=cells, caption=caption, ruled=ruled, spare=table.spare[:-1])


def reconstruction_curves(results: pd.DataFrame, layer: int = -1) -> Grid:
    """The instrument's figure, and below it why the printed errors are not in it."""
    scene = reconstruction.reconstruction_scene(results, layer)
    return replace(scene, note=f"{scene.note}\n{NOT_DRAWN}")
