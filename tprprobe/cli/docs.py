"""The book in the terminal: ``tprprobe docs``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tprprobe.errors import unknown
from tprprobe.files import assets

TITLE = "# "


def docs(
    page: Annotated[str | None, typer.Argument(help="A page; without one, all are listed.")] = None,
) -> None:
    """Read a page of the documentation here: as Markdown into a file or a pipe, else formatted."""
    pages = find_pages()
    if page is not None and page not in pages:
        raise unknown("page", page, pages)
    if page is None:
        width = max(map(len, pages), default=0)
        for name, path in pages.items():
            typer.echo(f"{name:{width}}  {read_title(path)}")
    elif sys.stdout.isatty():
        _show(pages[page].read_text("utf-8"))
    else:
        typer.echo(pages[page].read_text("utf-8"), nl=False)


def find_pages() -> dict[str, Path]:
    """The pages by name (``training``, ``tutorials/roles``): of a checkout, or as they are installed."""
    found: dict[str, Path] = {}
    for root in assets.roots("docs"):
        for path in sorted([*root.glob("*.md"), *root.glob("tutorials/*.md")]):
            found.setdefault(path.relative_to(root).with_suffix("").as_posix(), path)
    return found


def read_title(path: Path) -> str:
    """The first heading of a page."""
    lines = path.read_text("utf-8").splitlines()
    return next((line.removeprefix(TITLE) for line in lines if line.startswith(TITLE)), path.stem)


def _show(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))
