"""Locks by which processes that share a folder take turns; a lock ends with its process."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

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
def held_beside(path: Path) -> Iterator[bool]:
    """A block that yields True while no other process is in such a block for the same path.

    The lock lies beside the path and goes with the block; one that a killed process left is taken.
    """
    path = path.resolve()
    lock = path.with_name(f".{path.name}.lock")
    with held(lock, wait=False) as mine:
        try:
            yield mine
        finally:
            if mine:
                with suppress(PermissionError):  # Windows keeps what is open
                    lock.unlink(missing_ok=True)


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
