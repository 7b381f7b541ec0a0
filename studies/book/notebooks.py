"""Tutorials as Jupyter notebooks: a cell for every block of code of the page, and the text between as Markdown.

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
INSTALL = """This notebook is made of [a tutorial](../tutorials/{name}.md), where what its cells print stands, too. It needs tprprobe with its extras:

```sh
pip install 'tprprobe[app,huggingface,mathematics,summarization,train]'
```"""
SHELL = "%%sh\n"
OTHER_PAGE = re.compile(r"\]\((?!\w+:)([^)\s#]+)\.md(#[^)\s]*)?\)")


def write_notebook(text: str, links: str = ON_SITE) -> str:
    """The notebook of a page, as JSON (nbformat 4.5); what blocks print is left out, since running them prints it."""
    cells = [_cell(kind, source, i) for i, (kind, source) in enumerate(divide(text, links))]
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


def divide(text: str, links: str = ON_SITE) -> Iterator[tuple[str, str]]:
    """The cells of a page in order: their kind and their source."""
    position = 0
    for block in BLOCK.finditer(text):
        yield from _prose(text[position : block.start()], links)
        language, code, _ = block.groups()
        yield "code", (SHELL if language == "sh" else "") + code.rstrip("\n")
        position = block.end()
    yield from _prose(text[position:], links)


def add_download(markdown: str, name: str) -> str:
    """A page with a link to its notebook below its title."""
    title, _, body = markdown.partition("\n\n")
    link = f"[Download this page as a notebook]({name.rpartition('/')[2]}.ipynb)"
    return f"{title}\n\n{link}{{ download }}\n\n{body}"


def _prose(text: str, links: str) -> Iterator[tuple[str, str]]:
    """A Markdown cell of the text between two blocks, with its links to other pages."""
    if text.strip():
        yield "markdown", OTHER_PAGE.sub(links, text.strip())


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {**fields, **code, "source": source}


if __name__ == "__main__":
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        write_file(FOLDER / f"{page.stem}.ipynb", write_copy(page))
