"""jiang's Table 4: what vectors of the decoder, and here of the encoder too, know about words."""

import pandas as pd

from tprprobe.analyses.probing.rows import BEYOND
from tprprobe.figures.dots import EMBEDDING_LAYER
from tprprobe.figures.probe_captions import TITLES, write_caption
from tprprobe.figures.probes import KINDS, average_probes
from tprprobe.figures.tables import Table

VECTORS = (
    "role / filler / TPR where a model has roles, else its filler; of a whole layer its output"
)
CELLS = " (widest 95 % interval ±{:.1f}): {}. In parentheses the strongest control"


def table4(probes: pd.DataFrame) -> Table:
    """F1 of every model by layer (rows) and task (columns), as in the paper's Table 4: of the vectors that it probes.

    Raises:
        InputError: no row is of a role, filler, tpr or hidden state with all its heads.
    """
    rows = average_probes(probes, KINDS)
    cells = pd.Series(
        {
            (place, layer, model, TITLES.get(str(task), str(task))): _write_cell(point)
            for (place, layer, model, task), point in rows.groupby(
                ["place", "layer", "model", "task"]
            )
        }
    )
    tasks = [TITLES.get(task, task) for task in rows["task"].unique()]
    wide = cells.unstack().reindex(columns=tasks).fillna("–")
    wide = wide.rename_axis(["vectors of", "layer", "model"]).reset_index()
    wide["layer"] = ["emb" if layer == EMBEDDING_LAYER else f"{layer:g}" for layer in wide["layer"]]
    places = wide["vectors of"].tolist()
    ruled = tuple(i for i in range(1, len(places)) if places[i] != places[i - 1])
    vectors = "the output of a layer" if {*rows["kind"]} == {"hidden"} else VECTORS
    widest = 100 * (rows["f1_high"] - rows["f1_low"]).max() / 2
    note = f"\nModel: {wide.pop('model')[0]}." if wide["model"].nunique() == 1 else ""
    caption = write_caption(probes, rows, CELLS.format(widest, vectors), note)
    title = f"What vectors know about words: {rows.attrs['label']}"
    return Table(wide, title, caption, ruled, block=("vectors of",))


def _write_cell(point: pd.DataFrame) -> str:
    """The scores of one layer's vectors of one model, in the order of KINDS, and the strongest control."""
    scores = point.set_index("kind").reindex([kind for kind in KINDS if kind in {*point["kind"]}])
    marks = scores["beats_controls"].eq(True).map({True: BEYOND, False: ""})
    text = " / ".join(f"{100 * f1:.1f}{mark}" for f1, mark in zip(scores["f1"], marks, strict=True))
    control = point["control_f1"].max()
    return text if pd.isna(control) else f"{text} ({100 * control:.1f})"
