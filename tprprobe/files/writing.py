"""Files and folders that appear whole or not at all, whenever the process is killed."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tprprobe.errors import InputError

PARTIAL = ".partial."  # before the name, so that the ending still says the format


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A block's temporary path, which takes the final path's place when the block ends.

    What a killed process left there is removed first. One process writes a path at a time.

    Raises:
        InputError: it cannot be written; what was there before is there still.
    """
    path = Path(path)
    partial = partial_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(partial)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        _remove(partial)


def partial_of(path: Path) -> Path:
    """The name of a file or folder while it is being written."""
    return path.with_name(f"{PARTIAL}{path.name}")


def write_file(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """The file with this content (text in UTF-8), written whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    with whole(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def write_folder(folder: str | os.PathLike[str], files: Mapping[str, bytes | str]) -> Path:
    """The folder with exactly these files.

    Raises:
        InputError: it exists already, or cannot be written.
    """
    refuse_existing(folder)
    with whole(folder) as partial:
        partial.mkdir()
        for name, content in files.items():
            write_file(partial / name, content)
    return Path(folder)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    if Path(path).exists():
        raise InputError(f"{path} exists already: give another folder or remove it")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
