"""The glossary of columns: what tables of files must have, and what the papers' tables show, stands in it.

`test_faults.py` asks the same of every table that a command writes.
"""

import ast
from pathlib import Path

import pytest
from planted.columns import find_unexplained, find_unexplained_in

ROOT = Path(__file__).parents[3]


def declared(root: Path) -> set[str]:
    """The columns that tables of files must have: the texts in calls of `columns`."""
    calls = (
        node
        for path in root.rglob("*.py")
        if "columns(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "columns"
    )
    texts = (keyword.value for call in calls for keyword in call.keywords)
    return {name for text in texts if isinstance(text, ast.Constant) for name in text.value.split()}


@pytest.mark.parametrize("house", ["tprprobe", "tprpapers"])
def test_columns_of_files_are_explained(house):
    names = declared(ROOT / house)
    assert len(names) > 10
    assert not find_unexplained(names)
    assert find_unexplained(["no such column"]) == ["no such column"]


def test_columns_of_the_papers_tables_are_explained():
    assert not find_unexplained_in(ROOT / "studies/results/report")
