"""The card of a checkpoint: one template, filled with its training and its measured scores."""

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from studies.templates import fill
from tprprobe.statistics import interval_text, read_interval
from tprprobe.training.recipes import Recipe

Log = Sequence[Mapping[str, Any]]


def write_card(
    kind: Literal["questions", "summaries", "captions"],
    model: Any,
    recipe: Recipe,
    log: Log,
    **measured: Any,
) -> str:
    """Writes the card: data, training, and every measured number."""
    shared = {
        "data": recipe.stages[0].mix[0].data,
        "split": "test",
        "weights": sum(parameter.numel() for parameter in model.parameters()),
        "machine": platform.machine(),
        "minutes": f"{float(log[-1]['seconds']) / 60:.0f}",
    }
    values = {"kind": kind, "model": model, "recipe": recipe} | shared | measured
    return fill(Path(__file__).parent, "card.md.j2", **values)


def cell(table: Any, row: str, column: str = "value") -> str:
    """A number of a table of scores with its interval."""
    return interval_text(read_interval(table.loc[row], column))


def number(table: Any, row: str, column: str) -> float:
    """One number of a table of scores."""
    return float(table.loc[row, column])
