"""``python -m benchmarks.binding``: measures every method on every subject; a run that was cut off goes on."""

import os
import sys
from pathlib import Path
from typing import Annotated

for name, value in (("OMP_WAIT_POLICY", "PASSIVE"), ("OMP_NUM_THREADS", "1")):  # before torch
    os.environ.setdefault(name, value)

import typer

from tprprobe.errors import InputError

Names = list[str] | None


def main(
    out: Annotated[Path, typer.Option(help="Where cells are kept.")] = Path("runs/binding"),
    subjects: Annotated[Names, typer.Option(help="Some subjects; default: all.")] = None,
    methods: Annotated[
        Names, typer.Option(help="Some methods, files of the folder; default: all.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of every subject.")] = 3,
    tpdn: Annotated[
        Path | None,
        typer.Option(
            help="Folder with encoder.safetensors and decoder.safetensors of TPDN's GRUs."
        ),
    ] = None,
    real: Annotated[
        Path | None, typer.Option(help="Folder of `python -m studies.real fetch`.")
    ] = None,
    publish: Annotated[
        bool, typer.Option(help="Write the committed tables, the figure and the page.")
    ] = False,
) -> None:
    """Measure methods that look for binding on subjects whose binding is known."""
    from benchmarks.binding.calibration import calibrate
    from benchmarks.binding.page import publish_all, summarize

    from benchmarks.binding.runner import choose, list_methods, list_subjects, run

    if tpdn is None:
        typer.echo("without the GRUs of TPDN: give their weights by --tpdn")
    if real is None:
        typer.echo("without real models: fetch them, then give their folder by --real")
    chosen = choose(list_subjects(tpdn, real), subjects, "subject")
    cells = run(out, chosen, choose(list_methods(), methods, "method"), seeds, typer.echo)
    if publish:
        calibrate(out)
        for path in publish_all(out):
            typer.echo(path)
    else:
        typer.echo(summarize(cells).to_string())


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding: {error}")
