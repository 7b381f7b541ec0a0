"""A name is the noun of what it holds: participles and function words are none."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = tomllib.loads((ROOT / "tests/words.toml").read_text("utf-8"))
VAGUE = {*WORDS["vague_names"].split()}


def list_names(path: Path) -> list[tuple[str, str]]:
    """Every name that a module binds, with its place."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    stored = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = [(node.id, node.lineno) for node in stored]
    names += [(node.arg, node.lineno) for node in nodes if isinstance(node, ast.arg)]
    return [(name, f"{path}:{line} {name}") for name, line in names]


@pytest.mark.parametrize("house", WORDS["vague_shares"])
def test_names_say_what_they_hold(house):
    names = [name for path in (ROOT / house).rglob("*.py") for name in list_names(path)]
    vague = [place for name, place in names if name.strip("_").lower() in VAGUE]
    assert len(vague) <= WORDS["vague_shares"][house] * len(names), "\n".join(vague)
