"""The published files of the Mathematics Dataset: one folder per split with one text file per
module.

`train-easy/arithmetic__mixed.txt` (or `.txt.gz`) has questions and answers on alternate lines.
"""

import gzip
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.mathematics.generator import LEVELS
from tprprobe.data.mathematics.questions import Question, check_length, levels, parts
from tprprobe.errors import InputError, unknown

SPLITS = (*LEVELS, "train", "interpolate", "extrapolate")
STRIDE = 64  # pairs from one remembered place of a file to the next


@dataclass(frozen=True)
class File:
    """A file of question/answer pairs and the places of some of them."""

    path: Path
    module: str
    pairs: int
    places: tuple[int, ...]  # byte offset of every STRIDE-th pair


@dataclass(frozen=True)
class Stretch:
    """The rows from `start` on: the files in turn, each from pair number `pair` on."""

    start: int
    pair: int
    files: tuple[File, ...]


@dataclass(frozen=True)
class Published(Dataset[Question]):
    """The questions of published files, one from each file in turn until it ends."""

    stretches: tuple[Stretch, ...]

    def read(self, rows: range) -> Iterator[Question]:
        starts = [stretch.start for stretch in self.stretches]
        with ExitStack() as stack:
            readers: dict[Path, Reader] = {}
            for row in rows:
                stretch = self.stretches[bisect_right(starts, row) - 1]
                turn, place = divmod(row - stretch.start, len(stretch.files))
                file = stretch.files[place]
                if file.path not in readers:
                    readers[file.path] = Reader(file, stack.enter_context(_open(file.path)))
                yield readers[file.path].read(stretch.pair + turn)


class Reader:
    """A reader of any pair of an open file; pairs in order need no seeking."""

    def __init__(self, file: File, stream: BufferedIOBase):
        self.file, self.stream, self.next = file, stream, 0

    def read(self, pair: int) -> Question:
        if pair != self.next:
            self.stream.seek(self.file.places[pair // STRIDE])
            for _ in range(2 * (pair % STRIDE)):
                self.stream.readline()
        self.next = pair + 1
        question, answer = (self.stream.readline().rstrip(b"\n").decode("ascii") for _ in range(2))
        return Question(question, answer, self.file.module)


def _open(path: Path) -> BufferedIOBase:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def is_folder(spec: str) -> bool:
    """True if a data set is a folder, or modules of one (`FOLDER:a+b`)."""
    return _divided(spec)[0].is_dir()


def _divided(spec: str) -> tuple[Path, str]:
    folder, colon, selection = spec.rpartition(":")
    if colon and not Path(spec).is_dir():
        return Path(folder), selection
    return Path(spec), "all"


def open_folder(request: Request) -> Published:
    """The questions of a folder's files, or the first n, exactly as published.

    Nothing is left out: a training split has questions of `small-test`, too.
    Raises: InputError for a split or module that is not there, and for a damaged file.
    """
    folder, selection = _divided(request.spec)
    split = request.split or "interpolate"
    if split not in SPLITS:
        raise unknown("split of published files", split, SPLITS)
    paths = {level: _paths(folder, level) for level in levels(split)}
    chosen = parts(selection, split, paths.__getitem__)
    if not chosen:
        raise InputError(f"no file of a known module in {folder / split}; get the files again")
    for module, level in chosen:
        if module not in paths[level]:
            raise InputError(f"no {module}.txt in {folder / level}, but in other training splits")
    files = [_scanned(paths[level][module], module, request.n) for module, level in chosen]
    stretches = tuple(_stretches(files))
    rows = request.first_rows(sum(file.pairs for file in files))
    return Published(request.spec, split, request.seed, rows, stretches)


def _paths(folder: Path, split: str) -> dict[str, Path]:
    if not (folder / split).is_dir():
        there = ", ".join(name for name in SPLITS if (folder / name).is_dir()) or "none of them"
        raise InputError(f"no folder {split!r} in {folder}; of {', '.join(SPLITS)} it has {there}")
    paths = sorted([*(folder / split).glob("*.txt.gz"), *(folder / split).glob("*.txt")])
    return {path.name.split(".")[0]: path for path in paths}


def _scanned(path: Path, module: str, most: int | None) -> File:
    """The first pairs of a file, at most so many, checked."""
    places, offset, lines = [], 0, 0
    try:
        with _open(path) as stream:
            for line in islice(stream, most and 2 * most):
                if lines % (2 * STRIDE) == 0:
                    places.append(offset)
                _check(line, lines, path)
                offset, lines = offset + len(line), lines + 1
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); get it again") from None
    if lines == 0:
        raise InputError(f"{path} has no questions; get it again")
    if lines % 2:
        raise InputError(f"{path}, line {lines}: the last question has no answer; get it again")
    return File(path, module, lines // 2, tuple(places))


def _check(line: bytes, number: int, path: Path) -> None:
    kind, where = ("answer" if number % 2 else "question"), f"{path}, line {number + 1}: "
    if not line.isascii():
        raise InputError(f"{where}{kind} is not ASCII text; get the file again")
    check_length(kind, line.rstrip(b"\n").decode("ascii"), where)


def _stretches(files: Sequence[File]) -> Iterator[Stretch]:
    start = done = 0
    for pairs in sorted({file.pairs for file in files}):
        lasting = tuple(file for file in files if file.pairs >= pairs)
        if pairs > done:
            yield Stretch(start, done, lasting)
        start, done = start + (pairs - done) * len(lasting), pairs
