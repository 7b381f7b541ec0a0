"""``python -m studies.letters --runs runs/results/letters``: trains and fits what is missing, and writes fits.csv."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from studies.letters.letter_fits import FITS, collect_fits, measure_missing
from studies.letters.letter_models import list_models
from studies.tpdn.trainings import train_missing
from tprprobe.files.writing import write_file


def main(
    runs: Annotated[Path, typer.Option(help="The folder of models.")] = Path(
        "runs/results/letters"
    ),
    train: Annotated[bool, typer.Option(help="Train the models that are missing.")] = True,
) -> None:
    """Train, fit and collect; a run that was cut off goes on, and several share the work."""
    torch.set_num_threads(1)
    if train:
        train_missing(runs, list_models())
    measure_missing(runs)
    found = collect_fits(runs)
    write_file(FITS, found.round(4).to_csv(index=False))
    typer.echo(f"{len(found)} fits in {found['seconds'].sum():.0f} s of the processor")
    typer.echo(
        found.groupby(["task", "architecture", "roles"])["substitution"]
        .mean()
        .unstack()
        .round(3)
        .to_string()
    )


if __name__ == "__main__":
    typer.run(main)
