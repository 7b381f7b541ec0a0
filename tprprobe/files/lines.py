"""Text files read by line: scanned once; then any line is read without those before it."""

import codecs
import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.file_errors import check_unpacked

STRIDE = 64  # lines from one remembered place to the next
LONGEST = 4 * 2**20  # bytes
SMALL = 2**24  # bytes of an unpacked text that is no bomb
TRAILER = 4  # bytes
DAMAGE = (OSError, EOFError, zlib.error)
MARK = codecs.BOM_UTF8  # of a file, and in a file that was joined from several of any line: no text

Numbered = tuple[int, str]  # a line with its number from 1, without its end


@dataclass(frozen=True)
class Lines:
    """The lines of a file, gzipped or not, found by the byte at which every STRIDE-th line begins."""

    path: Path
    count: int
    places: tuple[int, ...]

    def __len__(self) -> int:
        return self.count

    def read(self, rows: Iterable[int]) -> Iterator[Numbered]:
        """The lines with these numbers (from 0), without their ends; each comes with its number from 1."""
        with opened(self.path) as stream:
            reader = LineReader(self, stream)
            for row in rows:
                yield row + 1, reader.read(row)


class LineReader:
    """Reads any line of an open file by its number from 0; lines in order without seeking."""

    def __init__(self, lines: Lines, stream: BufferedIOBase):
        self.lines, self.stream, self.next = lines, stream, 0

    def read(self, row: int) -> str:
        try:
            if row != self.next:
                self.stream.seek(self.lines.places[row // STRIDE])
                for _ in range(row % STRIDE):
                    self.stream.readline()
            line = self.stream.readline()
        except DAMAGE as error:
            raise _unreadable(self.lines.path, error) from None
        self.next = row + 1
        return _decoded(line, self.lines.path, self.next)


def scan_lines(
    path: Path, limit: int | None = None, check: Callable[[bytes, int], None] | None = None
) -> Lines:
    """The scanned lines of a file up to its last text, or the first ones; ``check`` gets every line and its number from 1."""
    places, offset, count, texts = [], 0, 0, 0
    with opened(path) as stream:
        for line in islice(_bounded(stream, path), limit):
            if count % STRIDE == 0:
                places.append(offset)
            offset, count = offset + len(line), count + 1
            line = line.removeprefix(MARK)
            texts = count if line.strip() else texts
            if check is not None:
                check(line, count)
    if not texts:
        raise InputError(f"{path} is empty; give a file with examples")
    return Lines(path, texts, tuple(places))


def read_lines(path: Path) -> Iterator[Numbered]:
    with opened(path) as stream:
        for number, line in enumerate(_bounded(stream, path), 1):
            yield number, _decoded(line, path, number)


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """The bytes of a file; unpacked if its name ends in `.gz`."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except DAMAGE as error:
        raise _unreadable(path, error) from None


def _bounded(stream: BufferedIOBase, path: Path) -> Iterator[bytes]:
    size, packed = 0, path.stat().st_size
    if path.suffix == ".gz" and packed > TRAILER:  # which says the size, as a rule
        with path.open("rb") as file:
            file.seek(-TRAILER, os.SEEK_END)
            try:
                check_unpacked(int.from_bytes(file.read(), "little"), packed, path, SMALL)
            except InputError as error:
                raise InputError(f"{path} cannot be read: it is cut off, or {error}") from None
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST + 1), b""), 1):
        size += len(line)
        check_unpacked(size, packed, path, SMALL)
        if len(line) > LONGEST:
            place = f"{path}, line {number}: more than {LONGEST:,} bytes"
            raise InputError(f"{place}; one example a line, shorten or leave out this one")
        yield line


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return InputError(f"{path} cannot be read ({reason}); get it again")


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.removeprefix(MARK).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        place = f"{path}, line {number}: byte {error.start + 1}"
        raise InputError(f"{place} is not UTF-8; convert the file") from None
