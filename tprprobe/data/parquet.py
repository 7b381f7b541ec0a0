"""Parquet files: generated questions kept to be read again, and articles."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tprprobe.data.dataset import ALL, Dataset, E, Request
from tprprobe.data.documents.articles import Article, as_text, find_columns
from tprprobe.data.mathematics.questions import Question
from tprprobe.errors import InputError
from tprprobe.files.file_errors import damage_told
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.settings import Document, parse
from tprprobe.files.writing import whole

COLUMNS = ("question", "answer", "module")
KEY = b"tprprobe"  # of our metadata in the file's
AGAIN = "write it again"
BATCH = 1024  # rows that are decoded at a time


@dataclass(frozen=True)
class Stored(Dataset[E]):
    """The examples of a Parquet file, made from the columns of these names."""

    path: Path
    starts: tuple[int, ...]  # first row of every row group
    columns: tuple[str, ...]
    make: Callable[..., E]

    def read(self, rows: range) -> Iterator[E]:
        for columns in self._tables(rows):
            yield from map(self.make, *columns)

    def blocks(self, size: int = BATCH) -> Iterator[tuple[list[str], list[str]]]:
        del size  # a batch is decoded as a whole
        for columns in self._tables(self.rows):
            yield columns[0], columns[1]

    def _tables(self, rows: range) -> Iterator[list[list[str]]]:
        """The columns of the rows, in a new part wherever another row group begins."""
        numbers = np.array(rows)
        groups = np.searchsorted(self.starts, numbers, side="right") - 1
        runs = np.split(numbers, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else []
        with pq.ParquetFile(self.path) as file:
            for run in runs:
                group = int(np.searchsorted(self.starts, run[0], side="right")) - 1
                yield from self._group(file, group, run)

    def _group(
        self, file: pq.ParquetFile, group: int, run: np.ndarray
    ) -> Iterator[list[list[str]]]:
        """The columns of the rows `run` of a row group, which is never decoded as a whole."""
        start = self.starts[group]
        batches = file.iter_batches(BATCH, row_groups=[group], columns=list(self.columns))
        while len(run):
            with damage_told(f"{self.path} is damaged", AGAIN):
                batch = next(batches)
                inside = np.isin(run, np.arange(start, start + len(batch)))
                taken = batch.take(pa.array(run[inside] - start))
                columns = self._checked(taken, run[inside])
            if inside.any():
                yield columns
            run, start = run[~inside], start + len(batch)

    def _checked(self, batch: pa.RecordBatch, rows: np.ndarray) -> list[list[str]]:
        return [
            [
                as_text(text, name, f"{self.path}, row {row + 1}")
                for row, text in zip(rows, batch[name].to_pylist(), strict=True)
            ]
            for name in self.columns
        ]


def write_parquet(
    dataset: Dataset[Question], path: str | Path, rows_per_group: int = 16384
) -> None:
    """Writes the questions of a data set, streamed; the file appears when it is complete."""
    about = {"name": dataset.name, "split": dataset.split, "seed": dataset.seed, "n": len(dataset)}
    schema = pa.schema([(name, pa.string()) for name in COLUMNS], {KEY: json.dumps(about)})
    questions = iter(dataset)
    with whole(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while block := list(islice(questions, rows_per_group)):
            columns = [[getattr(question, name) for question in block] for name in COLUMNS]
            writer.write_table(pa.table(columns, schema=schema))


class _About(Document):
    name: str
    split: str
    seed: int


def _read_about(content: bytes, path: Path) -> _About:
    with damage_told(f"{path} is damaged", AGAIN):
        return parse(_About, parse_json(content, "what it says of itself"), path)


def open_parquet(path: Path, request: Request) -> Dataset:
    """The examples of a Parquet file: articles, or the first n questions that `write_parquet` wrote.

    Name, split and seed of the latter are theirs.
    """
    with damage_told(f"{path} is no readable Parquet file", AGAIN):
        file = pq.read_metadata(path)
    sizes = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    if KEY in (file.metadata or {}):
        about = _read_about(file.metadata[KEY], path)
        if request.split not in (None, about.split):
            raise InputError(f"split {request.split!r} of {path}, which holds {about.split!r}")
        rows = request.first_rows(file.num_rows)
        place = (about.name, about.split, about.seed, rows, path, starts)
        return Stored(*place, COLUMNS, Question)
    columns = find_columns(file.schema.to_arrow_schema().names, str(path), request.column)
    place = (request.spec, ALL, request.seed, range(file.num_rows), path, starts)
    return Stored(*place, columns, Article)
