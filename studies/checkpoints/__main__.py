"""``python -m studies.checkpoints OUT RUN[=RECIPE] …``: the runs' checkpoint folders in OUT.

RECIPE is the one to print where a run read the same examples from files. Runs on summaries
and on captions are compared with one another, so give those of the same data together.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

from studies.checkpoints.caption_models import Captioner, ship_captions
from studies.checkpoints.question_models import ship
from studies.checkpoints.summary_models import Finished, ship_summaries
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.training.loop import MODEL
from tprprobe.training.recipes import Recipe, read_recipe


def _finished(argument: str) -> tuple[Path, Recipe]:
    run, _, printed = argument.partition("=")
    if not (Path(run) / MODEL).is_dir():
        raise InputError(f"{run} is no finished run: it has no folder {MODEL}")
    return Path(run), read_recipe(printed or Path(run) / MODEL / hub.RECIPE)


def main(out: str, *arguments: str) -> None:
    """Ship every run; those on summaries and those on captions together."""
    runs = [_finished(argument) for argument in arguments]
    for run, recipe in runs:
        if recipe.subwords is None and recipe.words is None:
            print(ship(run, Path(out) / recipe.name, recipe))
    articles = [Finished(run, recipe) for run, recipe in runs if recipe.subwords]
    captioners = [Captioner(run, recipe) for run, recipe in runs if recipe.words]
    for folder in [*ship_summaries(articles, Path(out)), *ship_captions(captioners, Path(out))]:
        print(folder)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except InputError as error:
        sys.exit(f"studies.checkpoints: {error}")
