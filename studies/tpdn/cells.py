"""The table of cells beside the published ones."""

from pathlib import Path

import pandas as pd

from studies.tpdn.substitutions import FAMILY, SCHEMES, SCORES
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.errors import InputError

PUBLISHED, CELLS = (Path(__file__).with_name(f"{name}.csv") for name in ("published", "cells"))
MODEL = ["encoder", "decoder", "task"]
CELL = [*MODEL, "roles"]


def collect_cells(runs: Path) -> pd.DataFrame:
    """A row a cell and seed: substitution with its interval, its controls, and the published number.

    Raises:
        InputError: the folder has no scores.
    """
    files = sorted(runs.glob(f"*/{SCORES}"))
    if not files:
        raise InputError(f"{runs} has no {SCORES}: python -m studies.tpdn --runs {runs} makes them")
    scores = pd.concat(map(pd.read_csv, files), ignore_index=True)
    scores = scores.assign(control=scores["control"].fillna(""))
    keys = [*CELL, "seed"]
    main = scores[(scores["family"] == FAMILY) & (scores["control"] == "")].set_index(keys)
    cells = main[["accuracy", "r2", "n", "n_fit"]].copy()
    for end in ("", "_low", "_high"):
        cells[f"substitution{end}"] = main[f"substitution{end}"]
    controls = {"additive": ("additive", ""), SHUFFLED_ROLES: (FAMILY, SHUFFLED_ROLES)}
    for name, (family, control) in controls.items():
        control_scores = scores[(scores["family"] == family) & (scores["control"] == control)]
        cells[name] = control_scores.set_index(keys)["substitution"]
    published = pd.read_csv(PUBLISHED)
    table = cells.reset_index().merge(published, on=CELL, how="left")
    order = table["roles"].map(SCHEMES.index)
    return table.iloc[order.argsort(kind="stable")].sort_values([*MODEL, "seed"], kind="stable")
