"""What a model was made of: its weights and every file that says how to read them and texts."""

import hashlib
import os
from pathlib import Path

from tprprobe.files import hub
from tprprobe.files.checksums import digest_files
from tprprobe.models.architectures import fingerprint
from tprprobe.models.protocol import Readable

NOT_READ = ("trainer_state.json", "expected.json")
SUFFIXES = (".json", ".txt", ".model", ".gguf")  # of configurations, tokenizers, vocabularies


def describe_origin(model: Readable) -> dict[str, object]:
    """Name, architecture, fingerprint of the weights and the sha256 of the files beside them: the same for two runs of one model."""
    files = digest_files(_files(_find_place(model)))
    config = getattr(getattr(model, "module", None), "config", None)
    to_json = getattr(config, "to_json_string", None)
    if not files and to_json is not None:  # a model in memory
        files = {"config": hashlib.sha256(to_json().encode()).hexdigest()}
    return {
        "name": model.name,
        "architecture": getattr(model, "architecture", None),
        "sha256": fingerprint(model),
        "files": files,
    }


def sum_origin(model: Readable) -> str:
    """One sha256 of a model's weights and of the files beside them, whatever the model is called."""
    origin = describe_origin(model)
    return hashlib.sha256(repr((origin["sha256"], origin["files"])).encode()).hexdigest()


def find_folder(model: Readable) -> str | None:
    """The absolute path of the folder or file that a model was read from; None of the hub's."""
    place = Path(_find_place(model) or "")
    return str(place.resolve()) if place.name and place.exists() else None


def _find_place(model: Readable) -> str | os.PathLike[str] | None:
    return getattr(model, "folder", None) or getattr(model, "source", None)


def _files(place: str | os.PathLike[str] | None) -> list[Path]:
    if place is None:
        return []
    folder = Path(place)
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        repo_id, _, revision = os.fspath(place).partition("@")
        folder = hub.find_in_cache(repo_id, revision or None) or folder
    files = [file for file in folder.glob("*") if file.suffix in SUFFIXES and file.is_file()]
    return [file for file in files if file.name not in NOT_READ]
