"""The folder layout of checkpoints: config.json, model.safetensors, README.md and what goes with them.

The layout is the Hugging Face hub's, so a folder can be uploaded and a hub id loaded as it is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files import assets

CONFIG, WEIGHTS, CARD, RECIPE, EXPECTED = (
    "config.json",
    "model.safetensors",
    "README.md",
    "recipe.toml",
    "expected.json",
)


def locate(kind: str, name: str | os.PathLike[str], local_files_only: bool = False) -> Path:
    """The folder of a checkpoint or probe: a path, a shipped name, or a hub id ``owner/name``.

    Raises:
        InputError: nothing of that name is here or on the hub.
    """
    text = str(name)
    if not is_id(text):
        return assets.find(kind, name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(text, local_files_only=local_files_only))
    except Exception as error:  # the hub's client raises dozens of kinds; each one is one line here
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"no folder {text!r} here, and the hub did not give it: {reason}"
        ) from error


def is_id(text: str) -> bool:
    """Whether a name is that of a hub repository, ``owner/name``: a folder of that name goes first."""
    return text.count("/") == 1 and not text.startswith((".", "/", "~")) and not Path(text).is_dir()


def write_folder(folder: str | os.PathLike[str], files: Mapping[str, bytes | str]) -> Path:
    """The folder with exactly these files, written beside it and renamed: whole or not at all.

    Raises:
        InputError: the folder exists already.
    """
    folder = Path(folder)
    if folder.exists():
        raise InputError(f"{folder} exists already: give another folder or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(data)
        partial.chmod(0o755)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def write_file(path: Path, content: bytes) -> Path:
    """The file with this content, written beside it and renamed: the new one or the old one."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        return partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: there is no such file, or it holds no JSON object.
    """
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}")
    try:
        content = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object")
    return content
