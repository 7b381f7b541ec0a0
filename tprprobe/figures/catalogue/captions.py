"""Captions that ``tprprobe eval --out`` scored, from paths."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError

KEYS = {"model", "data", "split", "n", "scores"}


def load_captioned(sources: Iterable[Any]) -> list[dict[str, Any]]:
    """The evaluations of captions in some folders or files.

    Raises:
        InputError: a source holds none.
    """
    return [found for source in sources for found in _evaluated(Path(source))]


def _evaluated(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    found = [content for file in files if (content := read_scores(file))]
    if not found:
        raise InputError(
            f"{path} holds no scores of captions: make them with `tprprobe eval --out {path}`"
        )
    return found


def read_scores(file: Path) -> dict[str, Any] | None:
    """The evaluation of captions in a file; None if the file is something else."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.keys() >= KEYS else None
