"""The folder layout of checkpoints: config.json, model.safetensors, README.md and what goes with them.

The layout is the Hugging Face hub's, so a folder can be uploaded and a hub id loaded as it is. Stores
and runs are dataset repositories there.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from tprprobe.errors import InputError
from tprprobe.files import assets
from tprprobe.files.writing import write_file

HUB = "hub:"  # before the id of a dataset repository

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
        raise InputError(
            f"no folder {text!r} here, and the hub did not give it: {_reason(error)}"
        ) from error


def locate_dataset(name: str | os.PathLike[str]) -> Path:
    """The folder of a store or a run: a path, or ``hub:owner/name``, a dataset repository.

    A prefix says that the hub is meant: ``runs/mixed`` is a folder.

    Raises:
        InputError: no id, or the hub did not give it.
    """
    text = str(name)
    if not text.startswith(HUB):
        return Path(name)
    from huggingface_hub import snapshot_download

    repo_id = text.removeprefix(HUB)
    if repo_id.count("/") != 1:
        raise InputError(f"{text}: give {HUB}owner/name")
    try:
        return Path(snapshot_download(repo_id, repo_type="dataset"))
    except Exception as error:  # see above
        raise InputError(
            f"the hub did not give the dataset {repo_id!r}: {_reason(error)}"
        ) from error


def upload(
    folder: Path,
    repo_id: str,
    kind: str,
    private: bool = False,
    beside: Mapping[str, bytes] = MappingProxyType({}),
) -> str:
    """The address of the repository (model or dataset) to which a folder was uploaded, with files
    ``beside`` it that do not lie there.

    Raises:
        InputError: the hub refuses.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        url = api.create_repo(repo_id, repo_type=kind, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo_id, folder_path=str(folder), repo_type=kind)
        if beside:
            with TemporaryDirectory() as made:
                for name, content in beside.items():
                    write_file(Path(made) / name, content)
                api.upload_folder(repo_id=repo_id, folder_path=made, repo_type=kind)
    except Exception as error:  # see above
        raise InputError(f"the hub did not take {folder}: {_reason(error)}") from error
    return str(url)


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_id(text: str) -> bool:
    """True if a name is a hub repository's, ``owner/name``; an existing folder of that name goes
    first.
    """
    return text.count("/") == 1 and not text.startswith((".", "/", "~")) and not Path(text).is_dir()
