"""The learning curve on disk: one CSV row per figure, and TensorBoard where it is installed."""

import csv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tprprobe.files.file_errors import as_input_error
from tprprobe.files.writing import whole
from tprprobe.training.kinds import RUNS

COLUMNS = ["step", "seconds", "examples", "tokens", "metric", "data", "split", "value"]
FILE = RUNS.file


class Log:
    """Rows of ``log.csv`` in a run's folder; rows from ``step`` on are written anew."""

    def __init__(self, folder: Path, step: int = 0):
        self.path = folder / FILE
        self.rows = [row for row in read_log(folder) if int(row["step"]) <= step] if step else []
        with whole(self.path) as partial, partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
        self.board: Any = None
        if find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            # drops what was logged behind the step
            self.board = SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def add(
        self, metric: str, value: float, at: dict[str, float], data: str = "", split: str = ""
    ) -> None:
        """Appends one figure; ``at`` is step, seconds, and examples and tokens seen."""
        row = {**at, "metric": metric, "data": data, "split": split, "value": value}
        self.rows.append(row)
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS).writerow(row)
        if self.board is not None:
            tag = "/".join(word for word in (metric, split, data) if word)
            self.board.add_scalar(tag, value, int(at["step"]))

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


def read_log(folder: Path) -> list[dict[str, Any]]:
    path = folder / FILE
    if not path.exists():
        return []
    with as_input_error(f"{path} is no training log", "train again"):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            _ = int(row["step"]), float(row["value"]), float(row["seconds"])
            _ = row["metric"], row["data"], row["split"]
    return rows
