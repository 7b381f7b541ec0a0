"""``python -m studies.book [PAGE]…``: the pages' code is run, and what it prints and draws is written into them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from studies.book.drawings import draw_ideas
from studies.book.executed_pages import DOCS, TUTORIALS, keep_picture, place_models, refresh
from studies.book.gallery_drawings import draw_gallery
from tprprobe.errors import unknown
from tprprobe.figures.style import Drawing

PICTURED: dict[str, Callable[[Path], Iterator[tuple[str, Drawing]]]] = {
    "ideas": draw_ideas,
    "gallery": draw_gallery,
}
RUN = ("index", *TUTORIALS)


def main(
    pages: Annotated[list[str] | None, typer.Argument(help="Which pages; all by default.")] = None,
) -> None:
    """Run the pages' code and write what it prints, and the pictures that it draws."""
    known = (*RUN, *PICTURED)
    for name in pages or known:
        if name not in known:
            raise typer.BadParameter(str(unknown("page", name, known)))
        with TemporaryDirectory() as folder:
            write_page(name, Path(folder))
        typer.echo(f"written: docs/{name}.md")


def write_page(name: str, folder: Path) -> None:
    """Writes what a page's code prints into it; of a page of pictures, these into docs/images/NAME."""
    if name not in PICTURED:
        place_models(name, folder)
        return refresh(DOCS / f"{name}.md", folder)
    kept = DOCS / "images" / name
    kept.mkdir(exist_ok=True)
    for picture, drawn in PICTURED[name](folder):
        drawn.savefig(folder / f"{picture}.png")
        keep_picture(folder / f"{picture}.png", kept)
    return None


if __name__ == "__main__":
    typer.run(main)
