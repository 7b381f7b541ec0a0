"""The tables of a run, and means over subjects with intervals over seeds."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.binding.calibration import calibrate
from benchmarks.binding.runner import list_methods
from benchmarks.binding.scores import MEASURES
from tprprobe.statistics import Interval, interval_text

RESULTS = Path(__file__).parent / "results"
SHOWN_MEASURES = ("r2", "r2_withheld", "accuracy", "accuracy_withheld", "interchange", "interchange_withheld")  # fmt: skip
COSTS = ("others_kept", "named_right", "reseed", "seconds", "parameters")
FORMS = {"parameters": ",.0f", "reseed": ".4f"}


def keep(out: Path) -> None:
    """Calibrates, and writes the tables of a run beside the benchmark."""
    tables = {name: read_table(out / f"{name}.csv") for name in ("cells", "chosen")}
    for name, table in {**tables, "calibration": calibrate()}.items():
        table.round(5).to_csv(RESULTS / f"{name}.csv", index=False)


def read_table(file: Path) -> pd.DataFrame:
    """A table, in which nothing but an empty cell is missing (a family is named "null")."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def over_seeds(cells: pd.DataFrame, measure: str) -> Interval:
    """The mean over subjects, with the 95 % interval (Student's t) over seeds; NaN where nothing is measured."""
    values = cells.groupby("seed")[measure].mean().dropna()
    mean, n = float(values.mean()), len(values)
    half = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Interval(mean, mean - half, mean + half, max(n - 1, 0))


def summarize(
    cells: pd.DataFrame, measures: Sequence[str] = (*SHOWN_MEASURES, *COSTS)
) -> pd.DataFrame:
    """A row a method: measures over subjects, as texts; "n/a" where it cannot answer."""
    rows = []
    for name, method_cells in cells.groupby("method", sort=False):
        texts = {MEASURES[m]: interval_text(over_seeds(method_cells, m), FORMS.get(m, ".2f")) for m in measures}  # fmt: skip
        texts = {measure: text.replace("–", "n/a") for measure, text in texts.items()}
        rows.append({"method": list_methods()[str(name)].TITLE, **texts})
    return pd.DataFrame(rows)
