"""Blocks of lines of annotation files, and errors that name the file and the line."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.lines import Numbered, read_lines


def read_blocks(path: Path) -> Iterator[list[Numbered]]:
    """Blocks of lines between empty lines."""
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
    """A block whose errors begin with this file and line number."""
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
