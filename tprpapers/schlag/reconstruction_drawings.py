"""schlag's Sec. 6.1: the reconstruction of z beside the printed errors."""

from dataclasses import replace

import pandas as pd

from tprprobe.figures import reconstruction
from tprprobe.figures.reconstruction import ROWS
from tprprobe.figures.scenes import Grid
from tprprobe.figures.tables import Table

PRINTED = {"TP-Transformer": 0.017, "Transformer": 0.009}
CAPTION = (
    "“printed”: schlag Sec. 6.1, last of 6 layers of 8 heads of 64, trained on all modules; in-sample at n = 100 is its likeliest reading.\n"
    "It does not say of what n = 100 counts, whether z was held out, or whether errors are means over dimensions: "
    "not comparable with ours; the order of predictors within a model is."
)
SPARE = (reconstruction.SPARE[0], "error, held out", reconstruction.SPARE[-1])  # columns
NOT_DRAWN = "The paper's errors, 0.017 (TP-Transformer) and 0.009 (Transformer), are not drawn: it does not say on which scale they are."


def reconstruction_table(results: pd.DataFrame, layer: int = -1) -> Table:
    """The instrument's table with the printed rows below."""
    table = reconstruction.reconstruction_table(results, layer)
    n = len(table.cells)
    for model, error in PRINTED.items():
        texts = (f"{model} (printed)", "last", ROWS["heads"], *"–––", *[f"{error:.3f}"] * 2)
        table.cells.loc[len(table.cells)] = list(texts)
    caption = f"{table.caption}\n{CAPTION}"
    return replace(table, caption=caption, ruled=(*table.ruled, n), spare=SPARE)


def reconstruction_curves(results: pd.DataFrame, layer: int = -1) -> Grid:
    """The instrument's figure, and below it why the printed errors are not in it."""
    scene = reconstruction.reconstruction_scene(results, layer)
    return replace(scene, note=f"{scene.note}\n{NOT_DRAWN}")
