"""Plain texts as data sets: lists, lines or paragraphs of a `.txt` file, a column of a table.

An encoder reads the text, and a decoder that needs a target is forced to write it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.console import note
from tprprobe.data.dataset import ALL, Dataset, Request
from tprprobe.data.documents.articles import Article, find_columns
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
