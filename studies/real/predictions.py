"""Predictions on real models, and their outcomes by the rule that was written down with them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from scipy import stats

from tprpapers.claims import Amendment, Day, Text
from tprprobe.errors import InputError
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.statistics import Interval

FILE, LEVEL = Path(__file__).with_name("predictions.toml"), 0.95
Outcome = Literal["holds", "fails", "undecided", "not measured"]


class Prediction(Settings, strict=True):
    """One prediction, and what decides it (see the head of ``predictions.toml``)."""

    id: Annotated[str, Field(pattern=r"^[a-d](-[a-z0-9]+)+$")]
    question: Literal["a", "b", "c", "d"]
    model: Text
    says: Text
    statistic: Text
    direction: Literal["greater", "less"]
    threshold: float
    over: Literal["one", "every", "some"] = "one"
    unit: Text
    controls: list[Text]
    seeds: int
    lead: str
    written: Day
    amended: list[Amendment] = Field(default_factory=list)

    @property
    def digest(self) -> str:
        """Twelve digits of a hash of all that decides it."""
        facts = self.model_dump(exclude={"amended"})
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class _File(Settings):
    prediction: list[Prediction]


def load_predictions(path: Path = FILE) -> dict[str, Prediction]:
    """The predictions by id.

    Raises:
        InputError: no TOML, an unknown key, a wrong value, an id twice.
    """
    listed = parse(_File, read_toml(path), path.name).prediction
    by_id = {prediction.id: prediction for prediction in listed}
    if len(by_id) != len(listed):
        raise InputError(f"{path.name}: an id stands there twice")
    return by_id


def decide(prediction: Prediction, cases: Mapping[str, Interval]) -> Outcome:
    """The outcome of a prediction by the intervals of its cases.

    One case that decides by itself (against *every*, for *some*) has its interval widened to
    1 − 5 %/cases.
    """
    if not cases:
        return "not measured"
    outcomes: list[Outcome] = [_outcome(prediction, interval) for interval in cases.values()]
    if len(outcomes) == 1:
        return outcomes[0]
    wide: list[Outcome] = [
        _outcome(prediction, _widen(interval, len(cases))) for interval in cases.values()
    ]
    by_all: Outcome
    by_one: Outcome
    by_all, by_one = ("fails", "holds") if prediction.over == "some" else ("holds", "fails")
    if by_one in wide:
        return by_one
    return by_all if {*outcomes} == {by_all} else "undecided"


def _outcome(prediction: Prediction, case: Interval) -> Outcome:
    return compare_to_threshold(case, prediction.threshold, prediction.direction)


def compare_to_threshold(interval: Interval, threshold: float, direction: str) -> Outcome:
    """*holds* if all of the interval lies beyond the threshold (``greater`` or ``less``), *fails* if none of it does."""
    low, high = interval.low - threshold, interval.high - threshold
    if direction == "less":
        low, high = -high, -low
    return "holds" if low > 0 else "fails" if high <= 0 else "undecided"


def _widen(case: Interval, cases: int) -> Interval:
    plain, wide = (stats.norm.ppf(1 - (1 - LEVEL) / 2 / m) for m in (1, cases))
    low, high = (
        float(case.value + wide / plain * (bound - case.value)) for bound in (case.low, case.high)
    )
    return Interval(case.value, low, high)
