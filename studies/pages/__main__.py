"""``python -m studies.pages [PAGE]…``: the pages, from what ships."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from studies.pages.headlines import finish_page
from studies.pictures import compact_file
from tprprobe.errors import InputError, unknown
from tprprobe.figures.style import save
from tprprobe.files.writing import write_file

RESULTS = Path(__file__).parents[1] / "results"
# NAME_page.make_page(runs) gives the text of studies/results/NAME.md, NAME_page.draw_figures() its images
PAGES = ("binding-benchmark", "study", "successors")


def main(
    pages: Annotated[list[str] | None, typer.Argument(help="Which pages; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of the pages.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="What is kept in between.")] = Path("runs/results"),
) -> None:
    """Measure what ships, and write what was found."""
    for name in pages or PAGES:
        if name not in PAGES:
            raise typer.BadParameter(str(unknown("page", name, PAGES)))
        module = import_module(f"studies.pages.{name.replace('-', '_')}_page")
        make_page: Callable[[Path], str] = module.make_page
        try:
            text = make_page(runs)
        except InputError as error:
            raise typer.BadParameter(f"page {name!r}: {error}") from error
        file = write_file(out / f"{name}.md", finish_page(name, text))
        typer.echo(f"written: {file}")
        figures = module.draw_figures() if hasattr(module, "draw_figures") else {}
        for path, figure in figures.items():
            file = save(figure, out / path)
            compact_file(file)
            typer.echo(f"drawn: {file}")


if __name__ == "__main__":
    typer.run(main)
