"""JSON in files; every mistake in it is one line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}")
    content = parse_json(path.read_bytes(), path)
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object")
    return content


def parse_json(text: bytes | str, where: object, remedy: str = "") -> Any:
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        content = json.loads(text)
        if "\\u" in text:  # half a character, a lone surrogate, cannot be written
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}){remedy and f': {remedy}'}") from error
    return content


def flatten(tree: Mapping[Any, object], prefix: str = "") -> dict[str, object]:
    """The values of nested tables by the path of their keys, such as ``files.model.config.json``."""
    flat: dict[str, object] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        flat |= (
            flatten(value, f"{path}.") if isinstance(value, Mapping) and value else {path: value}
        )
    return flat
