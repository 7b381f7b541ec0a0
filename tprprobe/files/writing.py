"""Files and folders that appear whole or not at all, whenever the process is killed and whoever else writes them;
processes that share a folder take turns by a lock, which ends with its process."""

import errno
import glob
import itertools
import os
import platform
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from tprprobe.errors import InputError

PARTIAL = ".partial."  # before the name, so that the ending still says the format
_NUMBERING = Path("/proc/self/ns/pid")  # of processes: a container has one to itself
_NAMES = platform.node(), os.readlink(_NUMBERING) if _NUMBERING.exists() else ""
_HOST = f"{zlib.crc32(repr(_NAMES).encode()):08x}"
_COUNT = itertools.count()


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A block's temporary path, which takes the final path's place when the block ends; litter of killed processes is removed."""
    path = Path(path)
    is_device = path.exists() and not (path.is_file() or path.is_dir())
    if is_device:  # which a rename would replace
        raise InputError(f"{path} is no file: give the name of a file")
    partial = path.with_name(f"{PARTIAL}{_HOST}-{os.getpid()}-{next(_COUNT)}.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        _remove(partial)
        yield partial
        partial.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and path.is_dir():
            raise InputError(f"another process wrote {path} meanwhile: that one stays") from error
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        _remove(partial)


def is_partial(path: Path) -> bool:
    """True for a file or folder while it is being written, or that a killed process left."""
    return path.name.startswith(PARTIAL)


def write_file(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """The file with this content (text in UTF-8), written whole or not at all."""
    with whole(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def write_folder(folder: str | os.PathLike[str], files: Mapping[str, bytes | str]) -> Path:
    refuse_existing(folder)
    with whole(folder) as partial:
        partial.mkdir()
        for name, content in files.items():
            write_file(partial / name, content)
    return Path(folder)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    if Path(path).exists():
        raise InputError(f"{path} exists already: give another folder or remove it")


def _clear(path: Path) -> None:
    start = f"{PARTIAL}{_HOST}-"
    for litter in path.parent.glob(f"{start}*.{glob.escape(path.name)}"):
        process = litter.name.removeprefix(start).partition("-")[0]
        if process.isdecimal() and not _is_alive(int(process)):
            _remove(litter)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # where signal 0 is Ctrl+C
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.unlink(missing_ok=True)


@contextmanager
def held(path: Path, wait: bool = True) -> Iterator[bool]:
    """A block that yields True while this process alone holds the lock; it may ``wait`` for another holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """A block in which no other process writes the path; the lock beside it goes with the block, or is taken from a killed process."""
    path = path.resolve()
    lock = path.with_name(f".{path.name}.lock")
    with held(lock, wait=False) as is_free:
        if not is_free:
            raise InputError(
                f"{path} is being written by another process: wait, or write elsewhere"
            )
        try:
            yield
        finally:
            with suppress(PermissionError):  # Windows keeps what is open
                lock.unlink(missing_ok=True)
