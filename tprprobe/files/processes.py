"""This process's place among those that torchrun or SLURM started on one command."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tprprobe.errors import InputError

STARTERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    # Those of a step, which srun sets: in a job's own script SLURM_NTASKS stands beside one process.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)
PAUSE = 0.5  # seconds


@dataclass(frozen=True)
class Ranks:
    """The number of this process (``rank``) of ``count`` that share a task; ``local`` on its machine."""

    rank: int = 0
    count: int = 1
    local: int = 0

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> "Ranks":
        for names in STARTERS:
            if all(name in environment for name in names[:2]):
                values = [environment.get(name, "0") for name in names]
                if not all(map(str.isdecimal, values)) or int(values[0]) >= int(values[1]):
                    raise InputError(
                        f"{names[0]}={values[0]!r} of {names[1]}={values[1]!r} is no place among processes: "
                        "start them with torchrun or srun, or unset these variables"
                    )
                return cls(*map(int, values))
        return cls()

    def place(self, device: str) -> str:
        """The device of this process: of several, each has the GPU of its number on its machine."""
        return f"{device}:{self.local}" if device == "cuda" and self.count > 1 else device

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Waits until something is done that other processes do; if one dies, its starter ends all."""
        while not is_done():
            time.sleep(PAUSE)
