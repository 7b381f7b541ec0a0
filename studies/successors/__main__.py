"""``python -m studies.successors [RUNS]``: trains what is missing, and measures what is trained."""

from pathlib import Path
from typing import Annotated

import typer

from studies.successors.trainings import train_all


def main(
    runs: Annotated[Path, typer.Argument(help="Folder of the trainings.")] = Path(
        "runs/successors"
    ),
) -> None:
    """Train the plan's models and measure how they bind."""
    train_all(runs)


if __name__ == "__main__":
    typer.run(main)
