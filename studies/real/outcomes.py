"""Estimates for the predictions, as rows of one table, and their outcomes by seed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from studies.real.predictions import decide, load_predictions
from tprprobe.files.writing import write_file
from tprprobe.statistics import Interval, read_interval

RESULTS = Path(__file__).with_name("results")


def estimate(prediction: str, seed: int, value: Interval, case: str = "") -> dict[str, Any]:
    """The row of one estimate for a prediction; several cases (layers, models, tasks) are several rows."""
    return {"prediction": prediction, "seed": seed, "case": case, **value.columns("value")}


def publish(name: str, tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The tables one after another, written beside the study to be committed."""
    table = pd.concat(list(tables), ignore_index=True)
    write_file(RESULTS / f"{name}.csv", table.round(4).to_csv(index=False))
    return table


def judge(estimates: pd.DataFrame) -> pd.DataFrame:
    """A row a prediction: its outcome by the first seed and by the others, the failed ones first."""
    rows = []
    for name, prediction in load_predictions().items():
        of_prediction = estimates[estimates["prediction"] == name]
        by_seed = {
            int(str(seed)): decide(
                prediction, {str(r["case"]): read_interval(r) for _, r in seed_rows.iterrows()}
            )
            for seed, seed_rows in of_prediction.groupby("seed")
        }
        outcome = by_seed.pop(min(by_seed), "not measured") if by_seed else "not measured"
        outcomes_again = " ".join(dict.fromkeys(by_seed.values()))
        rows.append(
            {
                "prediction": name,
                "says": prediction.says,
                "outcome": outcome,
                "again": outcomes_again,
            }
        )
    order = {"fails": 0, "undecided": 1, "holds": 2, "not measured": 3}
    return pd.DataFrame(rows).sort_values("outcome", key=lambda o: o.map(order), kind="stable")
