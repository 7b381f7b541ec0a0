"""Locks by which processes that share a folder take turns; a lock ends with its process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tprprobe.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextmanager
def held(path: Path, wait: bool = True) -> Iterator[bool]:
    """A block that yields True while this process alone holds the lock.

    It may ``wait`` until another one has let it go.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            _lock(file, wait)
        except (BlockingIOError, PermissionError):  # of Unix and of Windows
            yield False
        else:
            yield True


@contextmanager
def alone(path: Path, inherited: bool = False) -> Iterator[None]:
    """A block in which no other process writes the path.

    The lock lies beside the path and goes with the block; one that a killed process left is taken. An
    ``inherited`` one is held by processes begun in the block (with ``close_fds=False``) until they end, too.

    Raises:
        InputError: another process is in such a block.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    with _taken(lock, path) as file:
        os.set_inheritable(file.fileno(), inherited)
        try:
            yield
        finally:
            with suppress(PermissionError):  # Windows keeps what is open
                lock.unlink(missing_ok=True)


def _taken(lock: Path, path: Path) -> IO[str]:
    while True:
        file = lock.open("a")
        try:
            _lock(file, wait=False)
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                return file
        except FileNotFoundError:  # its last holder removed it meanwhile
            pass
        except (BlockingIOError, PermissionError):  # of Unix and of Windows
            file.close()
            raise InputError(
                f"{path} is being written by another process: wait for it, or write to another place"
            ) from None
        file.close()


def _lock(file: IO[str], wait: bool) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return None
    import msvcrt  # let go when the file is closed

    file.seek(0)
    while True:
        try:
            return msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # pyright: ignore
        except OSError:  # after ten seconds
            if not wait:
                raise
