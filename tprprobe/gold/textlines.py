"""Lines of annotation files, plain or gzipped, and errors that name the file and the line."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from tprprobe.errors import InputError

Numbered = tuple[int, str]


def read_lines(path: Path) -> Iterator[Numbered]:
    """The lines of a file with their numbers, from 1, without their ends.

    Raises:
        InputError: the file cannot be read, or is no UTF-8.
    """
    number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as lines
        ):
            for number, line in enumerate(lines, 1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, line {number + 1}: not UTF-8 text") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {reason}") from error


def read_blocks(path: Path) -> Iterator[list[Numbered]]:
    """Blocks of lines between empty lines.

    Raises:
        InputError: as above, or the file has no lines.
    """
    block: list[Numbered] = []
    found = False
    for number, line in read_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block, found = [], True
    if block:
        yield block
    elif not found:
        raise InputError(f"{path} is empty: give a file with annotated sentences")


@contextlib.contextmanager
def located(path: Path, number: int) -> Iterator[None]:
    """A block whose errors are told with this file and line number."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, line {number}: {error}") from error


def comments(block: list[Numbered]) -> dict[str, str]:
    """The comments ``# key = value`` of a block."""
    found = {}
    for _, line in block:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            found[key.strip()] = value.strip()
    return found


def rows(block: list[Numbered]) -> list[Numbered]:
    """The lines of a block that are no comments."""
    return [(number, line) for number, line in block if not line.startswith("#")]
