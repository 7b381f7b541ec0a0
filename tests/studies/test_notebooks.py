"""The notebooks of docs/notebooks: made of the tutorials, with links that lead somewhere; their cells run from the first to the last.

The suite runs the same code on the tutorials' pages (test_book.py); here it runs as the cells of a notebook, in the soak.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from studies.book.executed_pages import DOCS, place_models
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


def run_cells(path: Path, folder: Path) -> None:
    """Runs the cells in a new process, those of the shell by a shell that finds this tprprobe."""
    cells = [c["source"] for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    program = []
    for cell in (cell for cell in cells if not cell.startswith(f"{SHELL}pip install")):
        lines = [] if not cell.startswith(SHELL) else cell.removeprefix(SHELL).splitlines()
        commands = [
            line for line in lines if not line.startswith("tprprobe app")
        ]  # waits for a reader
        shell = (
            f"import subprocess\nsubprocess.run({chr(10).join(commands)!r}, shell=True, check=True)"
        )
        program.append(shell if lines else cell)
    script = folder / "cells.py"
    script.write_text("\n\n".join(program))
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join(places),
        "PYTHONPATH": str(DOCS.parent),
        "MPLBACKEND": "agg",
    }
    ran = subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.soak
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path, tmp_path):
    place_models(f"tutorials/{path.stem}", tmp_path)
    run_cells(path, tmp_path)
