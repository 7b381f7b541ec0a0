"""``python -m tprprobe.results --out docs``: the pages, from the shipped checkpoints."""

from pathlib import Path
from typing import Annotated

import typer

from tprprobe.figures.style import whole
from tprprobe.results.analyses import N, analyse
from tprprobe.results.pages import write_page

PAGE = "results-arithmetic.md"


def main(
    out: Annotated[Path, typer.Option(help="The folder of the pages.")] = Path("docs"),
    runs: Annotated[Path, typer.Option(help="What is kept in between.")] = Path("runs/results"),
    n: Annotated[int, typer.Option(help="Questions.")] = N,
) -> None:
    """Measure the shipped arithmetic checkpoints, and write what was found."""
    text = write_page(analyse(runs, n))
    with whole(out / PAGE) as file:
        file.write_text(text, "utf-8")
    typer.echo(f"written: {out / PAGE}")


if __name__ == "__main__":
    typer.run(main)
