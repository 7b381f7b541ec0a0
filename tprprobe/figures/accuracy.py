"""Exact match over the modules of the Mathematics Dataset."""

import pandas as pd

from tprprobe.errors import unknown
from tprprobe.figures.scenes import Dots, Grid

SMALL = "small-test"  # fresh questions of the size that small checkpoints are trained on


def module_bars(evaluations: pd.DataFrame, split: str) -> Grid:
    """The exact match of every module of a split, a mark per model, with 95 % intervals.

    ``evaluations`` are rows of ``tprprobe eval``. Fresh questions of the size that small models are trained on are a panel
    above, where they were asked. Source: schlag Figs. 4 (interpolate) and 5 (extrapolate).
    """
    if split not in {*evaluations["split"]}:
        raise unknown("split", split, sorted({*evaluations["split"]}))
    splits = dict.fromkeys([*evaluations.loc[evaluations["split"] == SMALL, "split"], split])
    areas = evaluations["module"].str.partition("__")
    is_one = areas[0].nunique() == 1
    names = areas[2] if is_one else areas[0] + " · " + areas[2]
    rows = evaluations.assign(name=names, group=evaluations["model"]).sort_values(
        "name", kind="stable"
    )
    rows = rows.rename(columns={"exact_match": "value"})
    label = "exact match" + f", {areas[0].iloc[0]}" * is_one
    pictures = [
        Dots(rows[rows["split"] == name], label, (0, 1), title=f"Exact match, {name}")
        for name in splits
    ]
    return Grid(pictures, 1, note="Lines: 95 % intervals.")
