"""How probes are trained: for how long, and when one is done."""

from dataclasses import dataclass
from typing import Literal

from tprprobe.errors import unknown


@dataclass(frozen=True)
class Schedule:
    """Adam (AMSGrad) on batches of whole samples, validated after ``every`` batches (None: an epoch).

    The learning rate is halved when ``patience`` + 1 validations in a row are no better, and a probe
    is done after ``stop`` such validations, or ``limit`` in all. It keeps its best weights.
    """

    learning_rate: float = 1e-3
    batch: int = 32
    every: int | None = None
    patience: int = 0
    stop: int = 3
    limit: int = 20
    watch: Literal["loss", "f1"] = "loss"
    clip: float = 5.0
    smallest_rate: float = 1e-6
    standardise: bool = True


SCHEDULES = {
    "short": Schedule(),
    # Source: Tenney et al. 2019, jiant/config/defaults.conf
    "tenney": Schedule(1e-4, 32, 1000, 5, 20, 250, "f1", standardise=False),
}


def find_schedule(given: str | Schedule) -> Schedule:
    """The schedule of that name, or the one given.

    Raises:
        InputError: there is none of that name.
    """
    if isinstance(given, Schedule):
        return given
    if given not in SCHEDULES:
        raise unknown("schedule", given, SCHEDULES)
    return SCHEDULES[given]
