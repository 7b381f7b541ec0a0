"""The book in the terminal: ``tprprobe docs``."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import typer

from tprprobe.errors import unknown
from tprprobe.files import assets

MAX_HITS = 12  # sections
WIDTH = 120  # characters of a line
HEADING = re.compile(r"^```.*?^```|^#+ +([^\n]*)", re.DOTALL | re.MULTILINE)  # code has no headings


def docs(
    words: Annotated[
        list[str] | None, typer.Argument(help="A page, or words to search for; default: all pages.")
    ] = None,
) -> None:
    """Read a page of the documentation in the terminal, or search all pages."""
    pages, query = find_pages(), " ".join(words or [])
    if not query:
        width = max(map(len, pages), default=0)
        for name, path in pages.items():
            typer.echo(f"{name:{width}}  {next(sections(path))[0]}")
    elif query not in pages:
        typer.echo("\n".join(search(pages, query)))
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        console = Console()
        with console.pager(styles=True):
            console.print(Markdown(pages[query].read_text("utf-8")))
    else:
        typer.echo(pages[query].read_text("utf-8"), nl=False)


def find_pages() -> dict[str, Path]:
    """The pages by name (``training``, ``tutorials/roles``): of a checkout, or as they are installed."""
    path_of_page: dict[str, Path] = {}
    for root in assets.roots("docs"):
        for path in sorted(root.rglob("*.md")):
            path_of_page.setdefault(path.relative_to(root).with_suffix("").as_posix(), path)
    return path_of_page


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """The headings of a page, with the text below them."""
    text = path.read_text("utf-8")
    headings = [match for match in HEADING.finditer(text) if match[1]]
    ends = [*(match.start() for match in headings[1:]), None]
    for heading, end in zip(headings, ends, strict=True):
        yield heading[1], text[heading.end() : end]


def search(pages: dict[str, Path], query: str) -> list[str]:
    """The sections that have all words, first those with the words in their heading: page, heading, and a line."""
    words = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in query.split()]
    hits = [
        (not all(word.search(heading) for word in words), f"{name}: {heading}{_line(text, words)}")
        for name, path in pages.items()
        for heading, text in sections(path)
        if all(word.search(f"{heading}\n{text}") for word in words)
    ]
    if not hits:
        raise unknown("page or word", query, pages)
    lines = [line for _, line in sorted(hits, key=lambda hit: hit[0])]
    n_further = len(lines) - MAX_HITS
    return [*lines[:MAX_HITS], *([f"and {n_further} more: add a word"] if n_further > 0 else [])]


def _line(text: str, words: Sequence[re.Pattern[str]]) -> str:
    """The line of a text that has most of the words; empty if none has one."""
    n_words = {line: sum(bool(w.search(line)) for w in words) for line in text.splitlines()}
    line = max(n_words, key=n_words.__getitem__, default="")
    return f"\n    {shorten(line, WIDTH, placeholder='…')}" if n_words.get(line) else ""
