"""The published files of the Mathematics Dataset: one folder per split with one text file per module.

`train-easy/arithmetic__mixed.txt` (or `.txt.gz`) has questions and answers on alternate lines.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tprpapers.worlds.loader import Loader
from tprpapers.worlds.mathematics.generator import LEVELS
from tprpapers.worlds.mathematics.questions import (
    NAME,
    Question,
    generate_questions,
    levels,
    select_module_splits,
)
from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.vocabularies.characters import check_length
from tprprobe.errors import InputError, unknown
from tprprobe.files.lines import LineReader, Lines, opened, scan_lines

SPLITS = (*LEVELS, "train", "interpolate", "extrapolate")


@dataclass(frozen=True)
class File:
    """A file of question/answer pairs, on alternate lines."""

    lines: Lines
    module: str

    @property
    def pairs(self) -> int:
        return len(self.lines) // 2


@dataclass(frozen=True)
class Stretch:
    """The rows from `start` on: the files in turn, each from pair number `pair` on."""

    start: int
    pair: int
    files: tuple[File, ...]


@dataclass(frozen=True, repr=False)
class Published(Dataset[Question]):
    """The questions of published files, one from each file in turn until it ends."""

    stretches: tuple[Stretch, ...]

    def read(self, rows: Sequence[int]) -> Iterator[Question]:
        starts = [stretch.start for stretch in self.stretches]
        with ExitStack() as stack:
            readers: dict[Path, LineReader] = {}
            for row in rows:
                stretch = self.stretches[bisect_right(starts, row) - 1]
                turn, place = divmod(row - stretch.start, len(stretch.files))
                file = stretch.files[place]
                path, line = file.lines.path, 2 * (stretch.pair + turn)
                if path not in readers:
                    readers[path] = LineReader(file.lines, stack.enter_context(opened(path)))
                question, answer = readers[path].read(line), readers[path].read(line + 1)
                yield Question(question, answer, file.module)


def _split_spec(spec: str) -> tuple[Path, str]:
    folder, colon, selection = spec.rpartition(":")
    has_no_selection = not colon or Path(spec).is_dir()
    return (Path(spec), "all") if has_no_selection else (Path(folder), selection)


def open_folder(request: Request) -> Published:
    """The questions of a folder's files, or the first n, exactly as published (those of `small-test`, too)."""
    folder, selection = _split_spec(request.spec)
    split = request.split or "interpolate"
    if split not in SPLITS:
        raise unknown("split of published files", split, SPLITS)
    paths = {level: _list_paths(folder, level) for level in levels(split)}
    module_splits = select_module_splits(selection, split, paths.__getitem__)
    if not module_splits:
        raise InputError(f"no file of a known module in {folder / split}; get the files again")
    for module, level in module_splits:
        if module not in paths[level]:
            raise InputError(f"no {module}.txt in {folder / level}, but in other training splits")
    files = [_scan_file(paths[level][module], module, request.n) for module, level in module_splits]
    stretches = tuple(_list_stretches(files))
    rows = request.first_rows(sum(file.pairs for file in files))
    return Published(request.spec, split, request.seed, rows, stretches)


def _list_paths(folder: Path, split: str) -> dict[str, Path]:
    if not (folder / split).is_dir():
        existing = ", ".join(name for name in SPLITS if (folder / name).is_dir()) or "none of them"
        raise InputError(
            f"no folder {split!r} in {folder}; of {', '.join(SPLITS)} it has {existing}"
        )
    paths = sorted([*(folder / split).glob("*.txt.gz"), *(folder / split).glob("*.txt")])
    return {path.name.split(".")[0]: path for path in paths}


def _scan_file(path: Path, module: str, max_pairs: int | None) -> File:
    """The first pairs of a file, at most so many, checked."""

    def check(line: bytes, number: int) -> None:
        kind, where = ("question" if number % 2 else "answer"), f"{path}, line {number}: "
        if not line.isascii():
            raise InputError(f"{where}{kind} is not ASCII text; get the file again")
        check_length(kind, line.rstrip(b"\r\n").decode("ascii"), where)

    lines = scan_lines(path, max_pairs and 2 * max_pairs, check)
    if len(lines) % 2:
        raise InputError(
            f"{path}, line {len(lines)}: the last question has no answer; get it again"
        )
    return File(lines, module)


def _list_stretches(files: Sequence[File]) -> Iterator[Stretch]:
    start = n_previous = 0
    for pairs in sorted({file.pairs for file in files}):
        lasting = tuple(file for file in files if file.pairs >= pairs)
        if pairs > n_previous:
            yield Stretch(start, n_previous, lasting)
        start, n_previous = start + (pairs - n_previous) * len(lasting), pairs


def open_questions(request: Request) -> Dataset[Question]:
    """The questions of a name: `mathematics:MODULE` is generated, a folder (or `FOLDER:MODULE`) is read."""
    is_generated = request.spec.partition(":")[0] == NAME and not Path(request.spec).is_dir()
    return generate_questions(request) if is_generated else open_folder(request)


load = Loader(open_questions)
