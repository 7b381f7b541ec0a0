"""Tutorials as Jupyter notebooks: a cell for every block of code of the page with what it prints, and the text between as Markdown.

A test runs the tutorials' blocks and compares what they print, so the notebooks hold what running them prints.

``python -m studies.book.notebooks`` writes those of the folder ``docs/notebooks``.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.book.executed_pages import BLOCK, DOCS, TUTORIALS
from tprprobe.files.writing import write_file

NOTEBOOKS = TUTORIALS  # pages that the site offers as notebooks
FOLDER = DOCS / "notebooks"
ON_SITE, IN_FOLDER = r"](\1.html\2)", r"](../tutorials/\1.md\2)"  # where links to other pages lead
INSTALL = """This notebook is made of [a tutorial](../tutorials/{name}.md). It needs tprprobe with its extras:

```sh
pip install 'tprprobe[app,huggingface,mathematics,summarization,train]'
```"""
SHELL = "%%sh\n"
OTHER_PAGE = re.compile(r"\]\((?!\w+:)([^)\s#]+)\.md(#[^)\s]*)?\)")


def write_notebook(text: str, links: str = ON_SITE) -> str:
    """The notebook of a page, as JSON (nbformat 4.5)."""
    cells = [_cell(i, *part) for i, part in enumerate(divide(text, links))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def write_copy(page: Path) -> str:
    """The notebook of a tutorial in ``docs/notebooks``, which says how to install what it needs."""
    title, _, body = page.read_text("utf-8").partition("\n\n")
    text = "\n\n".join([title, INSTALL.format(name=page.stem), body])
    return write_notebook(text, IN_FOLDER).replace("(../tutorials/../", "(../") + "\n"


def divide(text: str, links: str = ON_SITE) -> Iterator[tuple[str, str, str]]:
    """The cells of a page in order: their kind, their source, and what they print."""
    position = 0
    for block in BLOCK.finditer(text):
        yield from _prose(text[position : block.start()], links)
        language, code, printed = block.groups()
        yield "code", (SHELL if language == "sh" else "") + code.rstrip("\n"), printed or ""
        position = block.end()
    yield from _prose(text[position:], links)


def add_download(markdown: str, name: str) -> str:
    """A page with a link to its notebook below its title."""
    title, _, body = markdown.partition("\n\n")
    link = f"[Download this page as a notebook]({name.rpartition('/')[2]}.ipynb)"
    return f"{title}\n\n{link}{{ download }}\n\n{body}"


def _prose(text: str, links: str) -> Iterator[tuple[str, str, str]]:
    """A Markdown cell of the text between two blocks, with its links to other pages."""
    if text.strip():
        yield "markdown", OTHER_PAGE.sub(links, text.strip()), ""


def _cell(number: int, kind: str, source: str, printed: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    stream = {"output_type": "stream", "name": "stdout", "text": printed}
    code = {"execution_count": None, "outputs": [stream] if printed else []}
    return {**fields, **(code if kind == "code" else {}), "source": source}


if __name__ == "__main__":
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        write_file(FOLDER / f"{page.stem}.ipynb", write_copy(page))
