"""The folder layout of checkpoints: config.json, model.safetensors, README.md and what goes with them.

The layout is the Hugging Face hub's, so a folder can be uploaded and a hub id loaded as it is.
"""

import os
from pathlib import Path

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
    """True if a name is a hub repository's, ``owner/name``; an existing folder of that name goes
    first.
    """
    return text.count("/") == 1 and not text.startswith((".", "/", "~")) and not Path(text).is_dir()
