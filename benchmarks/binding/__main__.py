"""``python -m benchmarks.binding``: measures every method on every subject; a run that was cut off goes on."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.binding.runner import choose, list_methods, list_subjects, run
from benchmarks.binding.tables import keep, summarize
from tprprobe.errors import InputError

Names = list[str] | None


def main(
    out: Annotated[Path, typer.Option(help="Where cells are kept.")] = Path("runs/binding"),
    subjects: Annotated[Names, typer.Option(help="Some subjects; default: all.")] = None,
    methods: Annotated[Names, typer.Option(help="Some methods; default: all.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of every subject.")] = 3,
    tpdn: Annotated[Path | None, typer.Option(help="The folder of TPDN's GRUs.")] = None,
    real: Annotated[Path | None, typer.Option(help="The folder of real models.")] = None,
    publish: Annotated[bool, typer.Option("--keep", help="Write the committed tables.")] = False,
) -> None:
    """Measure methods that look for binding on subjects whose binding is known."""
    every = list_subjects(tpdn or Path(), real or Path())
    has = {"": True, "--tpdn": tpdn is not None, "--real": real is not None}
    for option in (option for option in has if not has[option]):
        typer.echo(f"left out without {option}: {', '.join(n for n, s in every.items() if s.needs == option)}", err=True)  # fmt: skip
    available = {name: subject for name, subject in every.items() if has[subject.needs]}
    selected = choose(available, subjects, "subject"), choose(list_methods(), methods, "method")
    cells = run(out, *selected, seeds)
    if publish:
        keep(out)
    typer.echo(summarize(cells[cells["family"] != "real"]).to_string(index=False))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding: {error}")
