"""Articles in text files: JSON lines, or lines of a `.source` and a `.target` file."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tprprobe.data.dataset import ALL, Dataset, Request
from tprprobe.data.documents.articles import Article, as_text, find_columns
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import Lines, scan_lines


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
