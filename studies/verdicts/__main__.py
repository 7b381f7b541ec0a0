"""``python -m studies.verdicts [STUDY]…``: judges the claims again, from what ships, and writes the table and its page."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from studies.verdicts.table import RESULTS, STUDIES, read_table, renew_rows, tabulate, write_page
from tprprobe.errors import InputError, unknown
from tprprobe.files.writing import write_file


def main(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Which studies' claims; all by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the table and the page.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="What is kept in between.")] = Path("runs/results"),
) -> None:
    """Measure what ships, and judge the claims by it."""
    verdicts = read_table()
    for name in studies or STUDIES:
        if name not in STUDIES:
            raise typer.BadParameter(str(unknown("study", name, STUDIES)))
        try:
            judged = import_module(f"studies.verdicts.{name}").decide(runs)
            verdicts = renew_rows(verdicts, tabulate(name, judged))
        except InputError as error:
            raise typer.BadParameter(f"study {name!r}: {error}") from error
    typer.echo(f"written: {write_file(out / 'verdicts.csv', verdicts.to_csv(index=False))}")
    typer.echo(f"written: {write_file(out / 'claims.md', write_page(verdicts))}")


if __name__ == "__main__":
    typer.run(main)
