"""The table of cells beside the published ones, and how far they agree."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from studies.tpdn.substitutions import FAMILY, SCHEMES, SCORES
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.errors import InputError

PUBLISHED, CELLS, ADAM = (
    Path(__file__).with_name(f"{name}.csv") for name in ("published", "cells", "cells-adam")
)  # ADAM: seed 0 by the authors' optimizer, 2,000 steps at a learning rate of 0.005
MODEL = ["encoder", "decoder", "task"]
CELL = [*MODEL, "roles"]
LARGE = 0.1  # of a difference between two schemes


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


@dataclass(frozen=True)
class Agreement:
    """How the cells, seeds averaged, agree with the published ones.

    ``differences`` has a row per model and two schemes whose published numbers differ by more than LARGE:
    whether the sign is the same here.
    """

    cells: pd.DataFrame
    differences: pd.DataFrame

    @property
    def median(self) -> float:
        """The median absolute difference of a cell."""
        return float(self.cells["difference"].abs().median())

    @property
    def mean(self) -> float:
        """The mean difference of a cell from the published number, with its sign."""
        return float(self.cells["difference"].mean())

    @property
    def above(self) -> int:
        """The far cells that lie above the published number."""
        return int((self.far["difference"] > 0).sum())

    @property
    def right(self) -> int:
        """Large differences whose sign is right."""
        return int(self.differences["right"].sum())

    @property
    def far(self) -> pd.DataFrame:
        """The cells that are more than LARGE away from the published number, the farthest first."""
        far = self.cells[self.cells["difference"].abs() > LARGE]
        return far.sort_values("difference", key=abs, ascending=False)


def compare(table: pd.DataFrame, min_accuracy: float = 0.0) -> Agreement:
    """The agreement of a table of cells, of models of at least ``min_accuracy``, with the published numbers."""
    table = table[table.groupby(MODEL)["accuracy"].transform("mean") >= min_accuracy]
    numbers = ["substitution", "substitution_low", "substitution_high", "accuracy", "published"]
    cells = table.groupby(CELL, sort=False, as_index=False)[numbers].mean()
    cells["difference"] = cells["substitution"] - cells["published"]
    pairs = cells.merge(cells, on=MODEL, suffixes=("", "_other"))
    printed = pairs["published"] - pairs["published_other"]
    measured = pairs["substitution"] - pairs["substitution_other"]
    is_right = np.sign(printed) == np.sign(measured)
    large = pairs.assign(printed=printed, here=measured, right=is_right)
    return Agreement(cells, large[printed.round(4) > LARGE].reset_index(drop=True))


def compare_trainings(
    training: pd.DataFrame, reference: pd.DataFrame, min_accuracy: float
) -> pd.Series:
    """By model, how much more substitution ``training`` gives than ``reference``, schemes and seeds averaged; of
    models of at least ``min_accuracy`` under both.
    """
    means, other = (
        t.groupby(MODEL)[["substitution", "accuracy"]].mean() for t in (training, reference)
    )
    joined = means.join(other.add_suffix("_other"), how="inner")
    able = joined[joined[["accuracy", "accuracy_other"]].min(axis=1) >= min_accuracy]
    return able["substitution"] - able["substitution_other"]
