"""Corpora of articles and texts: single files in several formats, and folders with one file per split.

Where a file is given by itself, the splits train, dev and test are parts of it: a seeded hash of the
document decides, so no document is in two of them. Examples that say nothing are left out.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.console import note
from tprprobe.data.dataset import ALL, Dataset, Request, no_data
from tprprobe.data.documents.articlefiles import (
    Article,
    find_columns,
    open_jsonl,
    open_parquet,
    open_two,
)
from tprprobe.data.generated import SHARES, split_by_hash
from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.lines import Lines, scan_lines

UNITS = ("lines", "paragraphs")
SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class TextList(Dataset[Article]):
    """Texts in memory."""

    texts: tuple[str, ...]

    def read(self, rows: range) -> Iterator[Article]:
        return (Article(self.texts[row], self.texts[row]) for row in rows)


@dataclass(frozen=True)
class TextFile(Dataset[Article]):
    """Texts of a file: sample i is the lines from ``starts[i]`` to ``ends[i]``.

    Lines between two empty lines are of one document.
    """

    lines: Lines
    starts: np.ndarray
    ends: np.ndarray
    documents: np.ndarray | None

    def read(self, rows: range) -> Iterator[Article]:
        wanted = (line for row in rows for line in range(self.starts[row], self.ends[row]))
        texts = self.lines.read(wanted)
        for row in rows:
            text = " ".join(next(texts)[1].strip() for _ in range(self.starts[row], self.ends[row]))
            document = None if self.documents is None else f"paragraph {self.documents[row] + 1}"
            yield Article(text, text, document)


def open_list(texts: Sequence[Any], request: Request) -> TextList:
    """The texts of a list; its name tells one list from another."""
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {number} of the list is {text!r:.60}; give a list of strings")
    key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    return TextList(f"texts {key}", ALL, request.seed, range(len(texts)), tuple(texts))


def open_text(path: Path, request: Request) -> TextFile:
    """The texts of a `.txt` file: its lines that are not empty, or its paragraphs."""
    unit = request.column or UNITS[0]
    if unit not in UNITS:
        raise unknown(f"unit of {path}", unit, UNITS)
    filled: list[bool] = []
    lines = scan_lines(path, check=lambda line, _: filled.append(bool(line.strip())))
    here = np.array(filled[: len(lines)])
    first = here & ~np.append(False, here[:-1])
    paragraph = np.cumsum(first)[here] - 1
    starts = np.flatnonzero(here)
    ends, documents = starts + 1, paragraph if first.sum() > 1 else None
    if unit == UNITS[1]:
        last = here & ~np.append(here[1:], False)
        starts, ends, documents = np.flatnonzero(first), np.flatnonzero(last) + 1, None
    other = f"{path}:{UNITS[unit == UNITS[0]]}"
    there = f"{other} reads its {other.rpartition(':')[2]}"
    note(f"{path}: {len(starts):,} texts, the {unit} of the file ({there})")
    return TextFile(
        request.spec, ALL, request.seed, range(len(starts)), lines, starts, ends, documents
    )


def open_table(path: Path, request: Request) -> TextList:
    """The texts of a column of a `.csv` or `.tsv` file: the one asked for, `text`, or the only one."""
    import pandas as pd

    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    options = {"sep": SEPARATORS[suffix], "dtype": str, "keep_default_na": False}
    with as_input_error(
        f"{path} cannot be read as a table", "save it as UTF-8 with a line of names"
    ):
        names = list(pd.read_csv(path, nrows=0, **options).columns)
    only = names[0] if len(names) == 1 else None
    column, _ = find_columns(names, str(path), request.column or only)
    with as_input_error(
        f"{path} cannot be read as a table", "save it as UTF-8 with a line of names"
    ):
        texts = pd.read_csv(path, usecols=[column], **options)[column].tolist()
    return TextList(request.spec, ALL, request.seed, range(len(texts)), tuple(texts))


Opener = Callable[[Path, Request], Dataset]
FORMATS: dict[str, Opener] = {
    ".jsonl": open_jsonl,
    ".source": open_two,
    ".target": open_two,
    ".parquet": open_parquet,
    ".txt": open_text,
    ".csv": open_table,
    ".tsv": open_table,
}
COLUMNED = {*FORMATS} - {".source", ".target"}  # the formats of which FILE:COLUMN is a part
SPLITS = tuple(SHARES)
ALIASES = {"dev": ("validation", "val", "valid")}


@dataclass(frozen=True)
class ChosenArticles(Dataset[Article]):
    """A part of a data set: the examples with these numbers."""

    whole: Dataset[Article]
    numbers: np.ndarray

    def read(self, rows: range) -> Iterator[Article]:
        chosen = self.numbers[np.array(rows, int)]
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1):
            yield from self.whole.read(range(run[0], run[-1] + 1) if len(run) else range(0))


def is_corpus(spec: str) -> bool:
    """True if a data set is a file of articles (or `FILE:COLUMN`), or a folder of such files."""
    path, _ = _divided(spec)
    return _suffix(path) in FORMATS or (path.is_dir() and bool(_files(path)))


def open_corpus(request: Request) -> Dataset:
    """The articles of a file or of a folder's split, or the first n."""
    path, column = _divided(request.spec)
    request = replace(request, column=column)
    file = _of_split(path, request.split) if path.is_dir() else path
    if not file.is_file():
        raise no_data(str(path))
    whole = replace(FORMATS[_suffix(file)](file, request), split=request.split or ALL)
    return choose(whole, request, divided=file == path)


def _divided(spec: str) -> tuple[Path, str | None]:
    """The file and the column (of a text file: the unit) of `FILE:COLUMN`."""
    file, colon, column = spec.rpartition(":")
    if colon and not Path(spec).exists() and _suffix(Path(file)) in COLUMNED:
        return Path(file), column
    return Path(spec), None


def _suffix(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _files(folder: Path) -> dict[str, Path]:
    """The file of each split of a folder; for two files the `.source` one."""
    splits = {*SPLITS, *ALIASES["dev"]}  # a README.txt is none
    found = {
        path.name.split(".")[0]: path
        for path in sorted(folder.iterdir(), reverse=True)
        if _suffix(path) in FORMATS
    }
    return {
        name: path for name, path in found.items() if ".txt" not in path.suffixes or name in splits
    }


def _of_split(folder: Path, split: str | None) -> Path:
    files, wanted = _files(folder), split or "test"
    for name in (wanted, *ALIASES.get(wanted, ())):
        if name in files:
            return files[name]
    raise unknown(f"split of {folder}", wanted, sorted(files))


def choose(whole: Dataset[Article], request: Request, divided: bool) -> Dataset[Article]:
    """The first n examples of a whole, or of its split where it is to be divided.

    Those without a document or a summary are left out and counted. No more is read than is
    needed to find n examples.
    """
    wanted = request.split if divided and request.split in SHARES else None
    numbers, empty = [], 0
    for number, each in enumerate(whole):
        if not each.source.strip() or not each.target.strip():
            empty += 1
        elif (
            wanted is None
            or split_by_hash(f"{request.seed}/{each.document_name or each.source}") == wanted
        ):
            numbers.append(number)
            if len(numbers) == request.n:
                break
    if empty:
        many = "1 example was" if empty == 1 else f"{empty:,} examples were"
        note(f"{request.spec}: {many} left out: a text is empty")
    rows = request.first_rows(len(numbers))
    if wanted is None and not empty:
        return whole[: len(rows)]
    return ChosenArticles(
        request.spec, wanted or whole.split, request.seed, rows, whole, np.array(numbers, int)
    )
