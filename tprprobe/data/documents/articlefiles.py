"""Articles in files: JSON lines, lines of a `.source` and a `.target` file, columns of a Parquet table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tprprobe.data.dataset import ALL, Dataset, Facts, Labels, Request
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import scan_lines

LABEL = "label"  # which may be a number
# What data sets call a text and what it should become; the first pair that a table has is read.
COLUMNS = (
    ("document", "summary"),  # XSum
    ("article", "highlights"),  # CNN/DailyMail
    ("article", "abstract"),  # arXiv and PubMed
    ("text", "headline"),  # Wikihow
    ("text", "summary"),  # BillSum
    ("dialogue", "summary"),  # SAMSum
    ("source", "target"),
    ("question", "answer"),
    ("text", LABEL),
    ("sentence", LABEL),  # GLUE
    ("text", "text"),
)
ONE_ANSWER = {("source", "target"), ("question", "answer")}  # the target is right or wrong


@dataclass(frozen=True, slots=True)
class Article:
    """A document and its summary."""

    document: str
    summary: str
    document_name: str | None = None
    has_one_answer: bool = False
    module = ""

    @property
    def source(self) -> str:
        return self.document

    @property
    def target(self) -> str:
        return self.summary

    def labels(self, _generated: str | None) -> Labels:
        return None, None


class Report(TypedDict, total=False):
    """What of a file was read, and what was not; a list of texts has no columns."""

    columns: list[str]
    columns_not_read: list[str]
    quoted: int  # texts of a .tsv file with quotes around them
    left_out_empty: int


Columns = tuple[str, str]  # of a text and of its target, twice the same if it is its own


def make_article(columns: Columns, texts: Iterable[str]) -> Article:
    return Article(*texts, has_one_answer=columns in ONE_ANSWER)


def find_columns(names: Collection[str], where: str, column: str | None = None) -> Columns:
    """The names of document and summary among these, or twice that of the column of texts."""
    for columns in COLUMNS if column is None else [(column, column)]:
        if set(columns) <= set(names):
            return columns
    present = ", ".join(map(repr, names)) or "nothing"
    if column is not None:
        raise InputError(f"{where} has no column {column!r}, but {present}")
    raise InputError(
        f"{where} has the columns {present}, but no 'text' and no pair such as 'source' and 'target': name them so "
        "(in a table by its first line; if this is a pair already, put a line of names before it), or give FILE:COLUMN to read texts of "
        "one column, without targets; words with their label, one a line, have an empty line behind every sentence"
    )


def describe_columns(names: Collection[str], columns: Columns) -> Report:
    unread = [name for name in names if name not in columns]
    return {"columns": list(dict.fromkeys(columns)), "columns_not_read": unread}


def report_columns(source: str, count: int, report: Report) -> str:
    text, *target = report.get("columns") or [""]
    unread, quoted = report.get("columns_not_read", ()), report.get("quoted", 0)
    clauses = [
        f"rows {count:,}",
        f"read: {text}" + (f" and {target[0]}" if target else ""),
        f"not read: {', '.join(unread)}" if unread else "",
        f"{quoted:,} texts keep the quotes around them (a .tsv file has no quotes)" * bool(quoted),
    ]
    return f"{source}: {'; '.join(filter(None, clauses))}"


def as_text(value: object, kind: str, where: str) -> str:
    """The value as a text: an empty one where there is none. A label may be a number."""
    if kind == LABEL and isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str | None):
        hint = ": give FILE:COLUMN to read the texts alone" if kind == LABEL else ""
        raise InputError(f"{where}: the {kind} is {value!r}, not a text{hint}")
    return value or ""


WRITE_AGAIN = "write it again"
ROWS = 1024  # of a Parquet file, that are decoded at a time


@dataclass(frozen=True, repr=False)
class Articles(Dataset[Article]):
    """Articles, which a function reads by their rows; ``about`` says what of their file is not read."""

    reader: Callable[[Sequence[int]], Iterator[Article]]
    about: Report = field(default_factory=Report)

    @classmethod
    def of(
        cls,
        request: Request,
        count: int,
        reader: Callable[[Sequence[int]], Iterator[Article]],
        report: Report | None = None,
    ) -> "Articles":
        return cls(request.spec, ALL, request.seed, range(count), reader, report or Report())

    @property
    def has_targets(self) -> bool:
        """True if targets are a column of their own, also where they equal the sources."""
        return len(self.about.get("columns", ())) == 2 or super().has_targets

    @property
    def report(self) -> Facts:
        return {**self.about}

    def read(self, rows: Sequence[int]) -> Iterator[Article]:
        return self.reader(rows)


def open_jsonl(path: Path, request: Request) -> Articles:
    """The articles of a `.jsonl` file, a JSON object a line; the first line says of which columns."""
    lines = scan_lines(path)
    ((number, line),) = lines.read([0])
    names = list(_parse_row(line, where := f"{path}, line {number}"))
    columns = find_columns(names, where, request.column)
    report = describe_columns(names, columns)

    def read(rows: Sequence[int]) -> Iterator[Article]:
        for number, line in lines.read(rows):
            where = f"{path}, line {number}"
            row = _parse_row(line, where)
            if lacking := [name for name in columns if name not in row]:
                raise InputError(f"{where} has no {lacking[0]!r}, which the first line has")
            yield make_article(columns, (as_text(row[name], name, where) for name in columns))

    return Articles.of(request, len(lines), read, report)


def _parse_row(line: str, where: str) -> dict[str, object]:
    if not line.strip():
        raise InputError(f"{where} is empty: every line is a JSON object, take it out")
    row = parse_json(line, where)
    if not isinstance(row, dict):
        raise InputError(f"{where} is no JSON object, but {type(row).__name__}")
    return row


def open_two(path: Path, request: Request) -> Articles:
    """The articles of a `.source` and a `.target` file, on lines of the same number."""
    source = path.with_name(path.name.replace(".target", ".source"))
    target = path.with_name(path.name.replace(".source", ".target"))
    for file in (source, target):
        if not file.is_file():
            raise InputError(f"no {file.name} beside {path}; both files are needed")
    documents, summaries = scan_lines(source), scan_lines(target)
    if len(documents) != len(summaries):
        n_shared = min(len(documents), len(summaries))
        raise InputError(
            f"{source} has {len(documents)} lines, {target.name} {len(summaries)}: from line "
            f"{n_shared + 1} on there is no pair; every document needs the summary on its line"
        )
    columns = (source.name, target.name)

    def read(rows: Sequence[int]) -> Iterator[Article]:
        line_pairs = zip(documents.read(rows), summaries.read(rows), strict=True)
        return (Article(document, summary) for (_, document), (_, summary) in line_pairs)

    return Articles.of(request, len(documents), read, describe_columns(columns, columns))


def open_parquet(path: Path, request: Request) -> Articles:
    """The articles of a Parquet file, made of two of its columns; no row group is decoded as a whole."""
    with as_input_error(f"{path} is no readable Parquet file", WRITE_AGAIN):
        metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = np.cumsum([0, *sizes])
    names = metadata.schema.to_arrow_schema().names
    columns = find_columns(names, str(path), request.column)
    report = describe_columns(names, columns)

    def read(rows: Sequence[int]) -> Iterator[Article]:
        if len(rows) > 1 and rows[0] > rows[-1]:
            yield from reversed([*read(rows[::-1])])
        elif rows:
            numbers = rows if isinstance(rows, range) else {*rows}
            group, last_group = np.searchsorted(starts, [rows[0], rows[-1]], side="right") - 1
            start = int(starts[group])
            with pq.ParquetFile(path) as file:
                batches = file.iter_batches(ROWS, range(group, last_group + 1), list({*columns}))
                while start <= rows[-1]:
                    with as_input_error(f"{path} is damaged", WRITE_AGAIN):
                        batch = next(batches)
                        indices = [i for i in range(len(batch)) if start + i in numbers]
                        texts = batch.take(pa.array(indices, pa.int64())).to_pylist()
                    for i, row in zip(indices, texts, strict=True):
                        where = f"{path}, row {start + i + 1}"
                        values = (as_text(row[name], name, where) for name in columns)
                        yield make_article(columns, values)
                    start += len(batch)

    return Articles.of(request, metadata.num_rows, read, report)
