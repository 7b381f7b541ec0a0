"""The list of presets and checkpoints, with exact parameter counts; no model is built for it."""

import math
import os
from pathlib import Path
from typing import NamedTuple

from tprprobe import plugins
from tprprobe.files import assets, hub
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import parse_json, read_json

BUFFERS = ("mean", "positions", "role_vectors")  # tensors of a checkpoint that are no parameters


class Preset(NamedTuple):
    """The settings of a model, and its number of parameters (unique tensors; the tests build and count them)."""

    settings: dict[str, object]
    parameters: int


def list_presets() -> dict[str, Preset]:
    plugged = plugins.load_all("presets").values()
    return {name: Preset(*row) for presets in plugged for name, row in presets.items()}


def list_models() -> dict[str, list[dict[str, object]]]:
    """``presets`` and ``checkpoints``; a checkpoint's ``metrics`` are what its card claims and the tests recompute."""
    presets = [
        {
            "name": name,
            "architecture": preset.settings["architecture"],
            "parameters": preset.parameters,
        }
        for name, preset in list_presets().items()
    ]
    checkpoints = [_describe(name, folder) for name, folder in assets.available("models").items()]
    return {"presets": presets, "checkpoints": [row for row in checkpoints if row]}


def _describe(name: str, folder: Path) -> dict[str, object]:
    if not (folder / hub.CONFIG).is_file() or not (folder / hub.WEIGHTS).is_file():
        return {}
    expected = folder / hub.EXPECTED
    return {
        "name": name,
        "architecture": read_json(folder / hub.CONFIG).get("architecture", "unknown"),
        "parameters": _count(folder / hub.WEIGHTS),
        "metrics": read_json(expected) if expected.is_file() else {},
    }


def _count(weights: Path) -> int:
    """The number of parameters in a safetensors file, read from its header without the library, which needs numpy."""
    with as_input_error(f"{weights} is damaged or no safetensors file"), weights.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.fstat(file.fileno()).st_size:
            raise ValueError(f"a header of {size:,} bytes")
        header = parse_json(file.read(size), "its header")
        shapes = {name: tensor["shape"] for name, tensor in header.items() if "shape" in tensor}
        names = [name for name in shapes if name.split(".")[-1] not in BUFFERS]
        return sum(math.prod(shapes[name]) for name in names)
