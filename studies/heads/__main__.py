"""``python -m studies.heads DIR``: measures what is missing of the study in DIR, and writes heads.csv."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from studies.heads.measures import HEADS, collect_heads, measure_missing
from tprprobe.files.writing import write_file


def main(study: Annotated[Path, typer.Argument(help="What `tprprobe train PLAN` wrote.")]) -> None:
    """Measure every finished model of a study; one that was cut off goes on."""
    torch.set_num_threads(1)
    measure_missing(study)
    measures = collect_heads(study)
    write_file(HEADS, measures.round(4).to_csv(index=False))
    typer.echo(measures.pivot_table("value", "variant", "measure").round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
