"""The book in the terminal: ``tprprobe docs``."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tprprobe.errors import unknown
from tprprobe.files import assets

SHOWN = 12  # sections
AROUND = 40  # characters of a line before the word, and twice as many behind it
HEADING = re.compile(r"^```.*?^```|^#+ +([^\n]*)", re.DOTALL | re.MULTILINE)  # code has no headings


def docs(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="A page, or words to search for; default: list all pages."),
    ] = None,
) -> None:
    """Read a page of the documentation in the terminal, or search all pages."""
    pages, asked = find_pages(), " ".join(words or [])
    if not asked:
        width = max(map(len, pages), default=0)
        for name, path in pages.items():
            typer.echo(f"{name:{width}}  {next(sections(path))[0]}")
    elif asked not in pages:
        typer.echo("\n".join(search(pages, asked)))
    elif sys.stdout.isatty():
        _show(pages[asked].read_text("utf-8"))
    else:
        typer.echo(pages[asked].read_text("utf-8"), nl=False)


def find_pages() -> dict[str, Path]:
    """The pages by name (``training``, ``tutorials/roles``): of a checkout, or as they are installed."""
    found: dict[str, Path] = {}
    for root in assets.roots("docs"):
        for path in sorted(root.rglob("*.md")):
            found.setdefault(path.relative_to(root).with_suffix("").as_posix(), path)
    return found


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """The headings of a page, with the text below them."""
    text = path.read_text("utf-8")
    headings = [each for each in HEADING.finditer(text) if each[1]]
    for heading, end in zip(
        headings, [*(each.start() for each in headings[1:]), None], strict=True
    ):
        yield heading[1], text[heading.end() : end]


def search(pages: dict[str, Path], asked: str) -> list[str]:
    """The sections that have all words, first those with the words in their heading: page, heading, and a line.

    Raises:
        InputError: no section has them.
    """
    words = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in asked.split()]
    found = [
        (name, heading, text)
        for name, path in pages.items()
        for heading, text in sections(path)
        if all(word.search(f"{heading}\n{text}") for word in words)
    ]
    if not found:
        raise unknown("page or word", asked, pages)
    found.sort(key=lambda each: not all(word.search(each[1]) for word in words))
    shown = [f"{name}: {heading}{_line(text, words)}" for name, heading, text in found[:SHOWN]]
    more = len(found) - len(shown)
    return [*shown, f"and {more} more: add a word"] if more else shown


def _line(text: str, words: Sequence[re.Pattern[str]]) -> str:
    """The line of a text that has most of the words, cut around the first of them."""

    def find(line: str) -> list[int]:
        return [hit.start() for word in words if (hit := word.search(line))]

    line = max(text.splitlines(), key=lambda line: len(find(line)), default="")
    if not (found := find(line)):
        return ""
    start, stop = max(0, min(found) - AROUND), min(found) + 2 * AROUND
    return f"\n    {'…' * (start > 0)}{line[start:stop].strip()}{'…' * (stop < len(line))}"


def _show(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))
