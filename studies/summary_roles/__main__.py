"""``python -m studies.summary_roles DIR``: measures what is missing of the study in DIR, and writes the tables."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from studies.summary_roles.records import STUDY, collect_roles, measure_missing
from tprprobe.files import assets

HOME = assets.find("studies", STUDY)


def main(
    study: Annotated[Path, typer.Argument(help="What `tprprobe train PLAN` wrote.")],
    out: Annotated[Path, typer.Option(help="The folder of the tables.")] = HOME,
) -> None:
    """Measure every finished model of a study of summaries; one that was cut off is measured anew."""
    torch.set_num_threads(1)
    measure_missing(study)
    for path in collect_roles(study, out):
        typer.echo(f"written: {path}")


if __name__ == "__main__":
    typer.run(main)
