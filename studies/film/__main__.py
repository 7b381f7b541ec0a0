"""``python -m studies.film --runs DIR``: trains and measures what is missing, and writes measured.csv and moments.csv."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from studies.film.events import MEASURED, MOMENTS, collect, find_all_moments, read_measured
from studies.film.film_questions import Film
from studies.film.filmed_models import Filmed, list_models
from studies.tpdn.trainings import train_missing
from tprprobe.files.writing import write_file
from tprprobe.trajectory import find_checkpoints, run_trajectory


def film(model: Filmed, runs: Path, of: Film) -> None:
    """The trajectory of one run: what every checkpoint of it answers."""
    checkpoints = find_checkpoints([str(model.steps(runs))])
    run_trajectory(checkpoints, of.analyses, runs / model.name / "trajectory", resume=True)


def main(
    runs: Annotated[Path, typer.Option(help="The folder of models.")] = Path("runs/results/film"),
    train: Annotated[bool, typer.Option(help="Train the models that are missing.")] = True,
) -> None:
    """Train, measure and collect; a run that was cut off goes on."""
    torch.set_num_threads(1)
    if train:
        train_missing(runs, list_models())
    films: dict[str, Film] = {}
    for model in filter(lambda each: each.folder(runs).exists(), list_models()):
        films.setdefault(model.variant, Film(model.variant))
        film(model, runs, films[model.variant])
    write_file(MEASURED, collect(runs).to_csv(index=False))
    moments = find_all_moments(read_measured())
    write_file(MOMENTS, moments.to_csv(index=False))
    typer.echo(moments.to_string(index=False, na_rep="–"))


if __name__ == "__main__":
    typer.run(main)
