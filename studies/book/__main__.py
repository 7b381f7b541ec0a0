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
    names = (*RUN, *PICTURED)
    for name in pages or names:
        if name not in names:
            raise typer.BadParameter(str(unknown("page", name, names)))
        with TemporaryDirectory() as folder:
            write_page(name, Path(folder))
        typer.echo(f"written: docs/{name}.md")


def write_page(name: str, folder: Path) -> None:
    """Writes what a page's code prints into it; of a page of pictures, these into docs/images/NAME."""
    if name not in PICTURED:
        place_models(name, folder)
        return refresh(DOCS / f"{name}.md", folder)
    image_folder = DOCS / "images" / name
    image_folder.mkdir(exist_ok=True)
    for picture, figure in PICTURED[name](folder):
        figure.savefig(folder / f"{picture}.png")
        keep_picture(folder / f"{picture}.png", image_folder)
    return None


if __name__ == "__main__":
    typer.run(main)
