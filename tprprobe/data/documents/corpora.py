"""Corpora of articles: single files in several formats, and folders with one file per split.

Where a file is given by itself, the splits train, dev and test are parts of it: a seeded hash of the
document decides, so no document is in two of them. Examples that say nothing are left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tprprobe.console import stderr
from tprprobe.data.dataset import ALL, Dataset, Request
from tprprobe.data.documents.articlefiles import open_jsonl, open_two
from tprprobe.data.documents.articles import Article
from tprprobe.data.hashing import SHARES, split_by_hash
from tprprobe.data.parquet import open_parquet
from tprprobe.errors import InputError, unknown

Opener = Callable[[Path, Request], Dataset]
FORMATS: dict[str, Opener] = {
    ".jsonl": open_jsonl,
    ".source": open_two,
    ".target": open_two,
    ".parquet": open_parquet,
}
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
    """True if a data set is a file of articles, or a folder of such files."""
    path = Path(spec)
    return _opener(path) is not None or (path.is_dir() and bool(_files(path)))


def open_corpus(request: Request) -> Dataset:
    """The articles of a file or of a folder's split, or the first n.

    Raises: InputError for a file, split or number that is not there, and for damaged files.
    """
    path = Path(request.spec)
    file = _of_split(path, request.split) if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"no file {request.spec!r}; give one that is there")
    whole = _open(file, replace(request, split=None, n=None))
    if whole.split != ALL:  # questions, which say of what split they are
        return _open(file, request)
    return choose(replace(whole, split=request.split or ALL), request, divided=file == path)


def _opener(path: Path) -> Opener | None:
    return FORMATS.get(path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix)


def _open(path: Path, request: Request) -> Dataset:
    open_file = _opener(path)
    assert open_file is not None
    return open_file(path, request)


def _files(folder: Path) -> dict[str, Path]:
    """The file of each split of a folder; for two files the `.source` one."""
    found = [p for p in sorted(folder.iterdir(), reverse=True) if _opener(p) is not None]
    return {path.name.split(".")[0]: path for path in found}


def _of_split(folder: Path, split: str | None) -> Path:
    files, wanted = _files(folder), split or "test"
    for name in (wanted, *ALIASES.get(wanted, ())):
        if name in files:
            return files[name]
    raise unknown(f"split of {folder}", wanted, sorted(files))


def choose(whole: Dataset[Article], request: Request, divided: bool) -> Dataset[Article]:
    """The first n examples of a whole, or of its split where it is to be divided.

    Those without a document or a summary are left out, counted and told. No more is read than is
    needed to find n examples.

    Raises: InputError if there are not that many.
    """
    wanted = request.split if divided and request.split in SHARES else None
    numbers, empty = [], 0
    for number, each in enumerate(whole):
        if not each.source.strip() or not each.target.strip():
            empty += 1
        elif wanted is None or split_by_hash(f"{request.seed}/{each.source}") == wanted:
            numbers.append(number)
            if len(numbers) == request.n:
                break
    if empty:
        stderr.print(_told(request.spec, empty), markup=False, highlight=False, soft_wrap=True)
    rows = request.first_rows(len(numbers))
    if wanted is None and not empty:
        return whole[: len(rows)]
    return ChosenArticles(
        request.spec, wanted or whole.split, request.seed, rows, whole, np.array(numbers, int)
    )


def _told(spec: str, empty: int) -> str:
    many = "1 example was" if empty == 1 else f"{empty:,} examples were"
    return f"{spec}: {many} left out, without a document or a summary"
