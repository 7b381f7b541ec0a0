"""``python -m benchmarks.binding``: measures every method on every subject; a run that was cut off goes on."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.binding.page import publish, summarize
from benchmarks.binding.runner import choose, list_methods, list_subjects, run
from tprprobe.errors import InputError

Names = list[str] | None


def main(
    out: Annotated[Path, typer.Option(help="Where cells are kept.")] = Path("runs/binding"),
    subjects: Annotated[Names, typer.Option(help="Some subjects; default: all.")] = None,
    methods: Annotated[Names, typer.Option(help="Some methods; default: all.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of every subject.")] = 3,
    tpdn: Annotated[Path | None, typer.Option(help="The folder of TPDN's GRUs.")] = None,
    real: Annotated[Path | None, typer.Option(help="The folder of real models.")] = None,
    show: Annotated[bool, typer.Option(help="Write the committed tables and the page.")] = False,
) -> None:
    """Measure methods that look for binding on subjects whose binding is known."""
    for given, name in (
        (tpdn, "TPDN's GRUs: give their folder by --tpdn"),
        (real, "real models: --real"),
    ):
        if given is None:
            typer.echo(f"without {name}", err=True)
    found = choose(list_subjects(tpdn, real), subjects, "subject")
    used = choose(list_methods(), methods, "method")
    cells = run(out, found, used, seeds, lambda line: typer.echo(line, err=True))
    if not show:
        typer.echo(summarize(cells).to_string())
        return
    for path in publish(out):
        typer.echo(path)


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding: {error}")
