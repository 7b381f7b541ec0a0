"""``python -m studies.tpdn --runs runs/results/tpdn``: trains and measures what is missing, and writes cells.csv."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from studies.tpdn.cells import CELLS, collect_cells
from studies.tpdn.substitutions import measure_missing
from studies.tpdn.trainings import list_models, train_missing
from tprprobe.files.writing import write_file


def main(
    runs: Annotated[Path, typer.Option(help="The folder of models.")] = Path("runs/results/tpdn"),
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    train: Annotated[bool, typer.Option(help="Train the models that are missing.")] = True,
) -> None:
    """Train, measure and collect; a run that was cut off goes on, and several share the work."""
    torch.set_num_threads(1)
    for seed in range(seeds):
        if train:
            train_missing(runs, list_models(seed))
        measure_missing(runs, seed)
    typer.echo(f"written: {write_file(CELLS, collect_cells(runs).round(4).to_csv(index=False))}")


if __name__ == "__main__":
    typer.run(main)
