"""Pages of the book that are generated when it is built: commands, API, gallery, and files of other folders.

mkdocs calls the functions whose names begin with ``on_`` (``hooks`` in mkdocs.yml).
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from studies.book.commands_page import write_commands
from studies.book.interface_page import write_interface

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PUBLISHED = {  # files outside docs/ that are pages of the book
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/README.md": "measurements.md",
}
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
LIST = re.compile(r"^(?!\s*([-*>#|]|\d+\.)|\s*$)(.+)\n(?=([-*] |\d+\. ))", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod):(<code>)")


def on_config(config: Any) -> Any:
    """The configuration with all pages that no list names under *Results*."""
    named = set(_named(config.nav))
    pages = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    for section in config.nav:
        if "Results" in section:
            section["Results"] = [name for name in pages if name not in named]
    return config


def _named(pages: Any) -> Iterator[str]:
    """The names of all pages in a list of pages and its sections."""
    for each in pages if isinstance(pages, list) else pages.values():
        if isinstance(each, str):
            yield each
        else:
            yield from _named(each)


def on_files(files: Any, config: Any) -> Any:
    """All files of the book, the generated ones among them."""
    from mkdocs.structure.files import File

    for name, text in generated():
        files.append(File.generated(config, name, content=text))
    return files


def generated() -> Iterator[tuple[str, str]]:
    """Every generated page: its name in the book, and its text."""
    from studies.book.gallery_page import write_gallery

    pages: dict[str, Callable[[], str]] = {
        "commands.md": write_commands,
        "api.md": write_interface,
        "gallery.md": write_gallery,
    }
    for name, write in pages.items():
        yield name, write()
    for path, name in PUBLISHED.items():
        yield name, (ROOT / path).read_text("utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page's text as the book needs it: lists set apart, links into other folders led to their pages."""
    homes = {name: path for path, name in PUBLISHED.items()}
    place = ROOT / homes.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _prose(part, place) for part in parts)


def on_page_content(html: str, **_: Any) -> str:
    """The page without the marks of Sphinx that docstrings have."""
    return ROLE.sub(r"\1", html)


def _prose(text: str, place: Path) -> str:
    return LINK.sub(lambda found: _led(found, place), LIST.sub(r"\2\n\n", text))


def _led(found: re.Match[str], place: Path) -> str:
    """A link as the book has it: to a page of the book where there is one, else its text alone."""
    mark, text, target, anchor = found.groups("")
    path = Path(os.path.normpath(place.parent / target))
    if ":" in target or not path.exists():
        return found[0]  # another site; or nowhere, which the strict build refuses
    known = {ROOT / path: name for path, name in PUBLISHED.items()}
    inside = known.get(path) or (str(path.relative_to(DOCS)) if path.is_relative_to(DOCS) else "")
    page = place.parent if place.is_relative_to(DOCS) else DOCS
    return f"{mark}[{text}]({os.path.relpath(DOCS / inside, page)}{anchor})" if inside else text
