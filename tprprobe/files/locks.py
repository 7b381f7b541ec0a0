"""Locks by which processes that share a folder take turns; a lock ends with its process."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from tprprobe.errors import InputError


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
