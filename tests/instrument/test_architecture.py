"""The map of the package: its picture is that of the layers, of the folders and of the imports."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tprprobe"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
(PICTURE,) = re.findall(r"^```layers\n(.*?)^```", PAGE, re.M | re.S)
LAYERS = [re.findall(r"(?:^|\s{3,})(\w+)\s{2,}", line) for line in PICTURE.splitlines()]
UNDRAWN = {"__main__"}  # starts the command line


def list_rooms():
    """The folders and modules of the package."""
    names = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    return names - {"__init__"} - UNDRAWN


def find_imports():
    """Every pair of rooms of which the first imports the second, also inside functions."""
    pairs, rooms = set(), list_rooms()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            targets = {name.split(".")[1] for name in names if name.startswith("tprprobe.")}
            pairs |= {(room, target) for target in targets & rooms if target != room}
    return pairs


def test_the_picture_has_the_layers_that_are_checked():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (checked,) = [
        contract["layers"] for contract in contracts if contract.get("containers") == ["tprprobe"]
    ]
    rows = [[name.strip() for name in layer.split("|")] for layer in checked]
    assert [row for row in rows if not {*row} <= UNDRAWN] == LAYERS


def test_every_room_is_drawn_and_has_a_paragraph():
    rooms = [room for layer in LAYERS for room in layer]
    assert {*rooms} == list_rooms()
    assert re.findall(r"^- \*\*(\w+)\*\*:", PAGE, re.M) == rooms


def test_imports_lead_downwards():
    place = {room: number for number, layer in enumerate(LAYERS) for room in layer}
    pairs = {(a, b) for a, b in find_imports() if a not in {*UNDRAWN, "__init__"}}
    assert len(pairs) > 50
    assert not [(a, b) for a, b in pairs if place[a] >= place[b]]


def test_files_of_the_walks_exist():
    paths = re.findall(r"`(tprprobe/[\w/.]+)`", PAGE.partition("## Three walks")[2])
    assert len(paths) > 10
    assert not [name for name in paths if not (ROOT / name).exists()]
