"""JSON objects in files; every mistake in one is told in one line."""

import json
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: there is no such file, or it holds no JSON object.
    """
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}")
    try:
        content = json.loads(path.read_text("utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # a lone surrogate is no text
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object")
    return content
