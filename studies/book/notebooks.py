"""Tutorials as Jupyter notebooks: a cell for every block of code of the page, and the text between as Markdown."""

import json
import re
from collections.abc import Iterator
from typing import Any

from studies.book.executed_pages import BLOCK, TUTORIALS

NOTEBOOKS = TUTORIALS  # pages that the site offers as notebooks
SHELL = "%%sh\n"
OTHER_PAGE = re.compile(r"\]\((?!\w+:)([^)\s#]+)\.md(#[^)\s]*)?\)")


def write_notebook(text: str) -> str:
    """The notebook of a page, as JSON (nbformat 4.5); what blocks print is left out, since running them prints it."""
    cells = [_cell(kind, source, i) for i, (kind, source) in enumerate(divide(text))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def divide(text: str) -> Iterator[tuple[str, str]]:
    """The cells of a page in order: their kind and their source."""
    position = 0
    for block in BLOCK.finditer(text):
        yield from _prose(text[position : block.start()])
        language, code, _ = block.groups()
        yield "code", (SHELL if language == "sh" else "") + code.rstrip("\n")
        position = block.end()
    yield from _prose(text[position:])


def add_download(markdown: str, name: str) -> str:
    """A page with a link to its notebook below its title."""
    title, _, body = markdown.partition("\n\n")
    link = f"[Download this page as a notebook]({name.rpartition('/')[2]}.ipynb)"
    return f"{title}\n\n{link}{{ download }}\n\n{body}"


def _prose(text: str) -> Iterator[tuple[str, str]]:
    """A Markdown cell of the text between two blocks, its links to pages led to those of the site."""
    if text.strip():
        yield "markdown", OTHER_PAGE.sub(r"](\1.html\2)", text.strip())


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {**fields, **code, "source": source}
