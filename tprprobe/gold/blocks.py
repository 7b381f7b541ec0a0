"""Blocks of lines between empty lines, a sentence each, and the comments and documents that they tell of."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.lines import Numbered, read_lines

DOCUMENT, PARAGRAPH = "newdoc", "newpar"
TITLES = {PARAGRAPH: "paragraph", DOCUMENT: "document"}


def read_blocks(path: Path) -> Iterator[list[Numbered]]:
    block: list[Numbered] = []
    has_block = False
    for number, line in read_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block, has_block = [], True
    if block:
        yield block
    elif not has_block:
        raise InputError(f"{path} is empty: give a file with annotated sentences")


@contextlib.contextmanager
def located(path: Path, number: int) -> Iterator[None]:
    """A block whose errors begin with this file and line number."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, line {number}: {error}") from error


def comments(block: list[Numbered]) -> dict[str, str]:
    values = {}
    for _, line in block:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            values[key.strip()] = value.strip()
    return values


def rows(block: list[Numbered]) -> list[Numbered]:
    return [(number, line) for number, line in block if not line.startswith("#")]


class Documents:
    """The document of the sentence that is read: the last that began, else the last paragraph, else none."""

    def __init__(self):
        self.name, self._count, self._has_documents = "", 0, False

    def read(self, values: Mapping[str, str]) -> None:
        for kind, title in TITLES.items():
            name = values.get(f"{kind} id", values.get(kind))
            if name is not None and (kind == DOCUMENT or not self._has_documents):
                self._has_documents |= kind == DOCUMENT
                self._count += 1
                self.name = name or f"{title} {self._count}"
