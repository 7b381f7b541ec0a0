"""Corpora of articles and texts: single files in several formats, and folders with one file per split.

Where a file is given by itself, the splits train, dev and test are parts of it: a seeded hash of the
document decides, so no document is in two of them. Examples that say nothing are left out.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.console import note
from tprprobe.data.dataset import ALL, SHARES, Dataset, Request, no_data, split_by_hash
from tprprobe.data.documents.articlefiles import (
    Article,
    Articles,
    find_columns,
    open_jsonl,
    open_parquet,
    open_two,
)
from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.lines import scan_lines

UNITS = ("lines", "paragraphs")
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def open_list(texts: Sequence[Any], request: Request) -> Articles:
    """The texts of a list; its name tells one list from another."""
    if not texts:
        raise InputError("the list has no texts: give at least one")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {number} of the list is {text!r:.60}; give a list of strings")
    key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    return _in_memory(texts, replace(request, spec=f"texts {key}"))


def _in_memory(texts: Sequence[str], request: Request) -> Articles:
    return Articles.of(
        request, len(texts), lambda rows: (Article(texts[row], texts[row]) for row in rows)
    )


def open_text(path: Path, request: Request) -> Articles:
    """The texts of a `.txt` file: its lines that are not empty, or its paragraphs, lines between empty ones.

    Where there are several, a paragraph is the document of its lines.
    """
    unit = request.column or UNITS[0]
    if unit not in UNITS:
        raise unknown(f"unit of {path}", unit, UNITS)
    filled: list[bool] = []
    lines = scan_lines(path, check=lambda line, _: filled.append(bool(line.strip())))
    here = np.array(filled[: len(lines)])
    first, last = here & ~np.append(False, here[:-1]), here & ~np.append(here[1:], False)
    starts, ends, documents = np.flatnonzero(first), np.flatnonzero(last) + 1, None
    if unit == UNITS[0]:
        documents = np.cumsum(first)[here] if len(starts) > 1 else None
        starts = np.flatnonzero(here)
        ends = starts + 1
    other = UNITS[unit == UNITS[0]]
    there = f"{path}:{other} reads its {other}"
    note(f"{path}: {len(starts):,} texts, the {unit} of the file ({there})")

    def read(rows: range) -> Iterator[Article]:
        texts = lines.read(line for row in rows for line in range(starts[row], ends[row]))
        for row in rows:
            text = " ".join(next(texts)[1].strip() for _ in range(starts[row], ends[row]))
            yield Article(text, text, None if documents is None else f"paragraph {documents[row]}")

    return Articles.of(request, len(starts), read)


def open_table(path: Path, request: Request) -> Articles:
    """The texts of a column of a `.csv` or `.tsv` file: the one asked for, `text`, or the only one."""
    import pandas as pd

    options = {"sep": SEPARATORS[_suffix(path)], "dtype": str, "keep_default_na": False}
    with as_input_error(
        f"{path} cannot be read as a table", "save it as UTF-8 with a line of names"
    ):
        names = list(pd.read_csv(path, nrows=0, **options).columns)
        only = names[0] if len(names) == 1 else None
        column, _ = find_columns(names, str(path), request.column or only)
        texts = pd.read_csv(path, usecols=[column], **options)[column].tolist()
    return _in_memory(texts, request)


FORMATS: dict[str, Callable[[Path, Request], Articles]] = {
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


def is_corpus(spec: str) -> bool:
    """True if a data set is a file of articles (or `FILE:COLUMN`), or a folder of such files."""
    path, _ = _divided(spec)
    return _suffix(path) in FORMATS or (path.is_dir() and bool(_files(path)))


def open_corpus(request: Request) -> Dataset:
    """The articles of a file or of a folder's split, or the first n."""
    path, column = _divided(request.spec)
    request = replace(request, column=column)
    file = path
    if path.is_dir():
        files = _files(path)
        file = files[find_split(path, request.split or "test", sorted(files))]
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
    paths = [path for path in sorted(folder.iterdir(), reverse=True) if _suffix(path) in FORMATS]
    found = {path.name.split(".")[0]: path for path in paths}
    return {n: path for n, path in found.items() if ".txt" not in path.suffixes or n in splits}


def find_split(of: object, wanted: str, there: Collection[str]) -> str:
    """The name that a split has among those that are there."""
    for name in (wanted, *ALIASES.get(wanted, ())):
        if name in there:
            return name
    raise unknown(f"split of {of}", wanted, there)


def choose(whole: Dataset[Article], request: Request, divided: bool) -> Dataset[Article]:
    """The first n examples of a whole, or of its split where it is to be divided.

    Those without a document or a summary are left out and counted. No more is read than is
    needed to find n examples.

    Raises:
        InputError: a whole that is to be divided has no such split.
    """
    if divided and request.split not in {None, ALL, *SHARES}:
        raise unknown(f"split of {request.spec}", str(request.split), [ALL, *SHARES])
    wanted = request.split if divided and request.split in SHARES else None
    numbers, empty = [], 0
    for number, each in enumerate(whole):
        key = f"{request.seed}/{each.document_name or each.source}"
        if not each.source.strip() or not each.target.strip():
            empty += 1
        elif wanted is None or split_by_hash(key) == wanted:
            numbers.append(number)
            if len(numbers) == request.n:
                break
    if empty:
        many = "1 example was" if empty == 1 else f"{empty:,} examples were"
        note(f"{request.spec}: {many} left out: a text is empty")
    rows = request.first_rows(len(numbers))
    if wanted is None and not empty:
        return whole[: len(rows)]
    chosen = np.array(numbers, int)

    def read(rows: range) -> Iterator[Article]:
        some = chosen[np.array(rows, int)]
        for run in np.split(some, np.flatnonzero(np.diff(some) != 1) + 1):
            yield from whole.read(range(run[0], run[-1] + 1) if len(run) else range(0))

    return Articles(request.spec, wanted or whole.split, request.seed, rows, read)
