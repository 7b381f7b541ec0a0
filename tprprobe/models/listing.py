"""What can be built and loaded, with exact parameter counts."""

from pathlib import Path
from typing import Any

from tprprobe.files.jsonfiles import read_json
from tprprobe.files import (assets, hub)
from tprprobe.models.architectures import count_parameters
from tprprobe.models.checkpoint import read_config
from tprprobe.models.presets import PRESETS


def list_models() -> dict[str, list[dict[str, Any]]]:
    """``presets`` and ``checkpoints``, a dictionary of name, architecture and parameters each.

    A checkpoint's ``metrics`` are what its card claims and the tests recompute.
    """
    presets = [
        {
            "name": name,
            "architecture": settings["architecture"],
            "parameters": count_parameters(settings),
        }
        for name, settings in PRESETS.items()
    ]
    found = [_describe(name, folder) for name, folder in assets.available("models").items()]
    return {"presets": presets, "checkpoints": [row for row in found if row]}


def _describe(name: str, folder: Path) -> dict[str, Any]:
    if not (folder / hub.CONFIG).is_file() or not (folder / hub.WEIGHTS).is_file():
        return {}
    config = read_config(folder)
    expected = folder / hub.EXPECTED
    return {
        "name": name,
        "architecture": config["architecture"],
        "parameters": count_parameters(config),
        "metrics": read_json(expected) if expected.is_file() else {},
    }
