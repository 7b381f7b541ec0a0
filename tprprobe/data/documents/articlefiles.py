"""Articles in files: JSON lines, lines of a `.source` and a `.target` file, columns of a Parquet table."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tprprobe.data.dataset import ALL, Dataset, Labels, Request
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import Lines, scan_lines

# What hub data sets call them: XSum, CNN/DailyMail, arXiv and PubMed, Wikihow.
COLUMNS = (
    ("document", "summary"),
    ("article", "highlights"),
    ("article", "abstract"),
    ("text", "headline"),
    ("text", "text"),
)


@dataclass(frozen=True, slots=True)
class Article:
    """A document and its summary."""

    document: str
    summary: str
    document_name: str | None = None
    has_one_answer, module = False, ""

    @property
    def source(self) -> str:
        return self.document

    @property
    def target(self) -> str:
        return self.summary

    def labels(self, _written: str | None) -> Labels:
        """No labels: the words of an article are not known."""
        return None, None


def find_columns(names: Collection[str], where: str, column: str | None = None) -> tuple[str, str]:
    """The names of document and summary among these, or twice that of the column of texts."""
    for columns in COLUMNS if column is None else [(column, column)]:
        if set(columns) <= set(names):
            return columns
    given = ", ".join(map(repr, names)) or "nothing"
    wanted = "'text' (and no 'document' with 'summary')" if column is None else repr(column)
    raise InputError(f"{where} has {given}, but no {wanted}: name the column of texts, FILE:COLUMN")


def as_text(value: object, kind: str, where: str) -> str:
    """The value as a text: an empty one where there is none."""
    if not isinstance(value, str | None):
        raise InputError(f"{where}: the {kind} is {value!r}, not a text")
    return value or ""


AGAIN = "write it again"
ROWS = 1024  # of a Parquet file, that are decoded at a time


@dataclass(frozen=True)
class JsonLines(Dataset[Article]):
    """The articles of a file with a JSON object a line."""

    lines: Lines
    column: str | None = None

    def read(self, rows: range) -> Iterator[Article]:
        for number, line in self.lines.read(rows):
            yield _parsed(line, f"{self.lines.path}, line {number}", self.column)


def _parsed(line: str, where: str, column: str | None) -> Article:
    row = parse_json(line, where)
    if not isinstance(row, dict):
        raise InputError(f"{where} is no JSON object, but {type(row).__name__}")
    names = find_columns(list(row), where, column)
    return Article(*(as_text(row[name], name, where) for name in names))


@dataclass(frozen=True)
class TwoFiles(Dataset[Article]):
    """The articles of two files, a document and a summary on lines of the same number."""

    documents: Lines
    summaries: Lines

    def read(self, rows: range) -> Iterator[Article]:
        both = zip(self.documents.read(rows), self.summaries.read(rows), strict=True)
        for (_, document), (_, summary) in both:
            yield Article(document, summary)


def open_jsonl(path: Path, request: Request) -> JsonLines:
    """The articles of a `.jsonl` file."""
    lines = scan_lines(path)
    return JsonLines(request.spec, ALL, request.seed, range(len(lines)), lines, request.column)


def open_two(path: Path, request: Request) -> TwoFiles:
    """The articles of a `.source` and a `.target` file, or the first n."""
    source = path.with_name(path.name.replace(".target", ".source"))
    target = path.with_name(path.name.replace(".source", ".target"))
    for file in (source, target):
        if not file.is_file():
            raise InputError(f"no {file.name} beside {path}; both files are needed")
    documents, summaries = scan_lines(source), scan_lines(target)
    if len(documents) != len(summaries):
        less = min(len(documents), len(summaries))
        raise InputError(
            f"{source} has {len(documents)} lines, {target.name} {len(summaries)}: from line "
            f"{less + 1} on there is no pair; every document needs the summary on its line"
        )
    rows = range(len(documents))
    return TwoFiles(request.spec, ALL, request.seed, rows, documents, summaries)


@dataclass(frozen=True)
class Table(Dataset[Article]):
    """The articles of a Parquet file, made of two of its columns."""

    path: Path
    starts: tuple[int, ...]  # first row of every row group
    columns: tuple[str, str]

    def read(self, rows: range) -> Iterator[Article]:
        for columns in self._tables(rows):
            yield from map(Article, *columns)

    def blocks(self, size: int = ROWS) -> Iterator[tuple[list[str], list[str]]]:
        del size  # a batch is decoded as a whole
        return self._tables(self.rows)

    def _tables(self, rows: range) -> Iterator[tuple[list[str], list[str]]]:
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
    ) -> Iterator[tuple[list[str], list[str]]]:
        """The columns of the rows `run` of a row group, which is never decoded as a whole."""
        start = self.starts[group]
        batches = file.iter_batches(ROWS, row_groups=[group], columns=list(self.columns))
        while len(run):
            with as_input_error(f"{self.path} is damaged", AGAIN):
                batch = next(batches)
                inside = np.isin(run, np.arange(start, start + len(batch)))
                taken = batch.take(pa.array(run[inside] - start))
                first, second = (self._checked(n, taken, run[inside]) for n in self.columns)
            if inside.any():
                yield first, second
            run, start = run[~inside], start + len(batch)

    def _checked(self, name: str, batch: pa.RecordBatch, rows: np.ndarray) -> list[str]:
        return [
            as_text(text, name, f"{self.path}, row {row + 1}")
            for row, text in zip(rows, batch[name].to_pylist(), strict=True)
        ]


def open_parquet(path: Path, request: Request) -> Table:
    """The articles of a Parquet file."""
    with as_input_error(f"{path} is no readable Parquet file", AGAIN):
        file = pq.read_metadata(path)
    sizes = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    columns = find_columns(file.schema.to_arrow_schema().names, str(path), request.column)
    return Table(request.spec, ALL, request.seed, range(file.num_rows), path, starts, columns)
