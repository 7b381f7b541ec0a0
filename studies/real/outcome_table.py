"""The table of predictions and outcomes on the page: plain words, the condition, the number that decides."""

import re
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, RootModel

from studies.real.drawings import MODELS
from studies.real.predictions import Prediction, load_predictions
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.statistics import interval_text, read_interval

FILE = Path(__file__).with_name("wording.toml")
SIGNS = {"greater": ">", "less": "<"}
Text = Annotated[str, Field(min_length=1)]


class Wording(Settings, strict=True):
    """A prediction, its quantity and where it must hold, in the words of the page."""

    says: Text
    quantity: Text
    where: str = ""

    def condition(self, prediction: Prediction) -> str:
        """When the prediction holds: ``quantity > threshold, where``."""
        limit = f"{self.quantity} {SIGNS[prediction.direction]} {prediction.threshold:g}"
        return f"{limit}, {self.where}" if self.where else limit


class _File(RootModel[dict[str, Wording]]):
    pass


def read_wording(path: Path = FILE) -> dict[str, Wording]:
    """The words of every prediction, by id."""
    return parse(_File, read_toml(path), path.name).root


def tabulate_outcomes(outcomes: pd.DataFrame, estimates: pd.DataFrame) -> pd.DataFrame:
    """One row for every prediction: what it says, when it holds, what was measured, its outcome, and that of another seed."""
    predictions, wording = load_predictions(), read_wording()
    names = outcomes["prediction"].tolist()
    first_seed = estimates[
        estimates["seed"] == estimates.groupby("prediction")["seed"].transform("min")
    ]
    numbers = {name: _number(rows) for name, rows in first_seed.groupby("prediction")}
    return pd.DataFrame(
        {
            "prediction": [wording[name].says for name in names],
            "holds if": [wording[name].condition(predictions[name]) for name in names],
            "measured": [numbers.get(name, "") for name in names],
            "outcome": outcomes["outcome"].tolist(),
            "again": outcomes["again"].tolist(),
        }
    )


def _number(cases: pd.DataFrame) -> str:
    """The interval of one case; of several the lowest and the highest value."""
    if len(cases) == 1 or cases["value"].nunique() == 1:
        return interval_text(read_interval(cases.iloc[0]))
    rows: Any = cases.loc
    ends = [rows[cases["value"].idxmin()], rows[cases["value"].idxmax()]]
    return " to ".join(
        f"{interval_text(read_interval(row))} ({name_case(str(row['case']))})" for row in ends
    )


def name_case(case: str) -> str:
    """A layer, model, task or pair of tasks as a reader knows it."""
    if re.fullmatch(r"\d+(\.0)?", case):
        return f"layer {float(case):.0f}"
    words = [MODELS.get(word, word.upper()) for word in case.split()]
    return (" " if "−" in words else ", ").join(words)
