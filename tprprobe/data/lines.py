"""Text files read by line: scanned once; then any line is read without those before it."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

from tprprobe.errors import InputError

STRIDE = 64  # lines from one remembered place to the next
LONGEST = 4 * 2**20  # bytes


@dataclass(frozen=True)
class Lines:
    """The lines of a file, gzipped or not, found by the byte at which every STRIDE-th line begins."""

    path: Path
    count: int
    places: tuple[int, ...]

    def __len__(self) -> int:
        return self.count

    def read(self, rows: range) -> Iterator[tuple[int, str]]:
        """The lines with these numbers (from 0), without their ends; each comes with its number
        from 1.

        Raises: InputError for a line that is not UTF-8.
        """
        at = -1
        with opened(self.path) as stream:
            for row in rows:
                if row != at:
                    stream.seek(self.places[row // STRIDE])
                    for _ in range(row % STRIDE):
                        stream.readline()
                at = row + 1
                yield at, self._decoded(stream.readline(), at)

    def _decoded(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path}, line {number}: byte {error.start + 1} is not UTF-8; convert the file"
            ) from None


def scan_lines(path: Path) -> Lines:
    """The scanned lines of a file; empty lines after the last text do not count.

    Raises: InputError for a file without text, one that cannot be read, and too long a line.
    """
    places, offset, count, texts = [], 0, 0, 0
    with opened(path) as stream:
        while line := stream.readline(LONGEST + 1):
            if len(line) > LONGEST:
                raise InputError(
                    f"{path}, line {count + 1}: more than {LONGEST:,} bytes; one example a line, "
                    "shorten or leave out this one"
                )
            if count % STRIDE == 0:
                places.append(offset)
            offset, count = offset + len(line), count + 1
            texts = count if line.strip() else texts
    if not texts:
        raise InputError(f"{path} is empty; give a file with one example a line")
    return Lines(path, texts, tuple(places))


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """The bytes of a file; unpacked if its name ends in `.gz`.

    Raises: InputError where they cannot be read.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} cannot be read ({reason}); get it again") from None
