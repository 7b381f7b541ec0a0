"""The notebooks of docs/notebooks: made of the tutorials, with links that lead somewhere; their cells run from the first to the last.

The suite runs the same code on the tutorials' pages (test_book.py); here it runs as the cells of a notebook, in the soak.
"""

import ast
import json
import re

import pytest

from studies.book.executed_pages import DOCS
from studies.book.notebooks import FOLDER, SHELL, write_copy

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_is_a_notebook_of_every_tutorial():
    assert [path.stem for path in NOTEBOOKS] == [
        page.stem for page in sorted((DOCS / "tutorials").glob("*.md"))
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_made_of_its_tutorial_and_its_links_lead_somewhere(path):
    text = path.read_text("utf-8")
    assert text == write_copy(DOCS / f"tutorials/{path.stem}.md")
    cells = json.loads(text)["cells"]
    for cell in cells:
        for link in re.findall(r"\]\((?!\w+:)([^)#]+)", "".join(cell["source"])):
            assert (path.parent / link).exists(), link
        if cell["cell_type"] == "code" and not cell["source"].startswith(SHELL):
            ast.parse(cell["source"])
