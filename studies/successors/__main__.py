"""``python -m studies.successors [RUNS]``: trains what is missing, and measures what is trained and what ships."""

from pathlib import Path
from typing import Annotated

import typer

from studies.successors.tables import measure_all, measure_shipped
from studies.successors.trainings import RUNS, train_all


def main(
    runs: Annotated[Path, typer.Argument(help="Folder of the trainings.")] = RUNS,
    train: Annotated[bool, typer.Option(help="Whether missing models are trained.")] = True,
) -> None:
    """Train the plan's models and measure how they bind."""
    if train:
        train_all(runs)
    measure_all(runs)
    measure_shipped()


if __name__ == "__main__":
    typer.run(main)
