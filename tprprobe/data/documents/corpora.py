"""Corpora of articles and texts: single files in several formats, and folders with one file per split.

The splits of a single file are parts of it: a seeded hash of the document decides, so no document is in two of them.
"""

import csv
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from tprprobe.console import note
from tprprobe.data.dataset import ALL, SHARES, Dataset, Request, no_data, split_by_hash
from tprprobe.data.documents.articlefiles import (
    Article,
    Articles,
    describe_columns,
    find_columns,
    make_article,
    open_jsonl,
    open_parquet,
    open_two,
    report_columns,
)
from tprprobe.errors import InputError, unknown
from tprprobe.files.lines import LONGEST, read_lines, scan_lines

UNITS = ("lines", "paragraphs")
QUOTED = re.compile(r'"(?:[^"]|"")*"')  # a field as a .csv file quotes it
SEPARATORS = ",;\t|"  # of a .csv file: the first that stands between the names of its columns
SEPARATOR_LINE = re.compile(r"sep=(.)")  # by which Excel names it, before the names of columns
QUOTING = {
    ".csv": "in a .csv file fields with separators, quotes or line ends stand in double quotes, "
    "and a quote in them is doubled",
    ".tsv": "a .tsv file has no quotes: no field has a tab or a line end",
}


def open_list(texts: Sequence[str], request: Request) -> Articles:
    if not texts:
        raise InputError("the list has no texts: give at least one")
    if wrong := [i for i, text in enumerate(texts) if not isinstance(text, str)]:
        value = texts[wrong[0]]
        raise InputError(f"text {wrong[0]} of the list is {value!r:.60}; give a list of strings")
    key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    request = replace(request, spec=f"texts {key}")
    articles = [Article(text, text) for text in texts]
    return Articles.of(request, len(texts), lambda rows: (articles[i] for i in rows))


def open_text(path: Path, request: Request) -> Articles:
    """The texts of a `.txt` file: its lines, or its paragraphs between empty lines, which are the documents of lines."""
    unit = request.column or UNITS[0]
    if unit not in UNITS:
        raise unknown(f"unit of {path}", unit, UNITS)
    filled: list[bool] = []
    lines = scan_lines(path, check=lambda line, _: filled.append(bool(line.strip())))
    has_text = np.array(filled[: len(lines)])
    is_start = has_text & ~np.append(False, has_text[:-1])
    is_end = has_text & ~np.append(has_text[1:], False)
    starts, ends, documents = np.flatnonzero(is_start), np.flatnonzero(is_end) + 1, None
    if unit == UNITS[0]:
        documents = np.cumsum(is_start)[has_text] if len(starts) > 1 else None
        starts = np.flatnonzero(has_text)
        ends = starts + 1
    other_unit = UNITS[unit == UNITS[0]]
    hint = f"{path}:{other_unit} reads its {other_unit}"
    note(f"{path}: {len(starts):,} texts, the {unit} of the file ({hint})")

    def read(rows: Sequence[int]) -> Iterator[Article]:
        texts = lines.read(line for row in rows for line in range(starts[row], ends[row]))
        for row in rows:
            text = " ".join(next(texts)[1].strip() for _ in range(starts[row], ends[row]))
            yield Article(text, text, None if documents is None else f"paragraph {documents[row]}")

    return Articles.of(request, len(starts), read)


def open_table(path: Path, request: Request) -> Articles:
    """The texts of a `.csv` or `.tsv` file: the column asked for, the only one, or those of a known pair."""
    rows = _read_table(path)
    _, names = next(rows)
    only = names[0] if len(names) == 1 else None
    columns = find_columns(names, str(path), request.column or only)
    places = [names.index(column) for column in columns]
    articles = []
    for number, row in rows:
        if len(row) != len(names):
            fields = f"{len(row)} field{'s' * (len(row) != 1)} for {len(names)} columns ({', '.join(names)}): mend the line"
            raise InputError(f"{path}, line {number}: {fields}; {QUOTING[_suffix(path)]}")
        articles.append(make_article(columns, (row[place] for place in places)))
    report = describe_columns(names, columns)
    if _suffix(path) == ".tsv":
        texts = (text for article in articles for text in {article.source, article.target})
        report["quoted"] = sum(bool(QUOTED.fullmatch(text)) for text in texts)
    return Articles.of(request, len(articles), lambda rows: (articles[i] for i in rows), report)


def _read_table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with the numbers of their last lines, first the names of its columns."""
    lines = read_lines(path)
    _, head = next(lines, (1, ""))
    if not head.strip():
        raise InputError(f"{path} has no names of columns: give a table with a line of names first")
    if _suffix(path) == ".tsv":
        yield 1, [name.strip() for name in head.split("\t")]
        yield from ((i, line.split("\t")) for i, line in lines if line or "\t" not in head)
        return
    if separator_line := SEPARATOR_LINE.fullmatch(head):
        separator, (_, head) = separator_line[1], next(lines, (2, ""))
    else:
        separator = next((candidate for candidate in SEPARATORS if candidate in head), ",")
    texts = (f"{line}\n" for line in chain([head], (line for _, line in lines)))
    csv.field_size_limit(LONGEST)
    reader = csv.reader(texts, delimiter=separator, strict=True)
    try:
        yield 1, (names := [name.strip() for name in next(reader)])
        for row in reader:
            if row or len(names) == 1:  # an empty line is an empty text where there is one column
                yield reader.line_num, row or [""]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}; {QUOTING['.csv']}") from None


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
    path, _ = _divided(spec)
    return _suffix(path) in FORMATS or (path.is_dir() and bool(_files(path)))


def open_corpus(request: Request) -> Dataset:
    path, column = _divided(request.spec)
    request = replace(request, column=column)
    file = path
    if path.is_dir():
        files = _files(path)
        file = files[find_split(path, request.split or "test", sorted(files))]
    if not file.is_file():
        raise no_data(str(path))
    dataset = replace(FORMATS[_suffix(file)](file, request), split=request.split or ALL)
    return choose(dataset, request, divided=file == path)


def _divided(spec: str) -> tuple[Path, str | None]:
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
    file_of_split = {path.name.split(".")[0]: path for path in paths}
    return {n: p for n, p in file_of_split.items() if ".txt" not in p.suffixes or n in splits}


def find_split(owner: object, split: str, names: Collection[str]) -> str:
    for name in (split, *ALIASES.get(split, ())):
        if name in names:
            return name
    raise unknown(f"split of {owner}", split, names)


def choose(dataset: Articles, request: Request, divided: bool) -> Dataset[Article]:
    """The first n examples with a text and a target, of the whole or (``divided``) of a split; no more are read than needed."""
    if divided and request.split not in {None, ALL, *SHARES}:
        raise unknown(f"split of {request.spec}", str(request.split), [ALL, *SHARES])
    split = request.split if divided and request.split in SHARES else None
    numbers, empty = [], 0
    targets = dict[int, int]()  # hashes of targets by that of a source with one right answer
    ambiguous_sources = set[int]()
    for number, example in enumerate(dataset):
        key = f"{request.seed}/{example.document_name or example.source}"
        if not example.source.strip() or not example.target.strip():
            empty += 1
        elif split is None or split_by_hash(key) == split:
            source, target = hash(example.source), hash(example.target)
            if example.has_one_answer and targets.setdefault(source, target) != target:
                ambiguous_sources.add(source)
            numbers.append(number)
            if len(numbers) == request.n:
                break
    rows, report = request.first_rows(len(numbers)), dataset.about.copy()
    if "columns" in report:
        note(report_columns(request.spec, len(dataset), report))
    if n_ambiguous := len(ambiguous_sources):
        count = "1 source stands" if n_ambiguous == 1 else f"{n_ambiguous:,} sources stand"
        note(
            f"{request.spec}: {count} there with different targets, of which no model can get all right"
        )
    if empty:
        count = "1 example was" if empty == 1 else f"{empty:,} examples were"
        note(f"{request.spec}: {count} left out: a text is empty")
        report["left_out_empty"] = empty
    if split is None and not empty:
        return dataset[: len(rows)]
    row_numbers = np.array(numbers, int)

    def read(rows: Sequence[int]) -> Iterator[Article]:
        selected = row_numbers[np.array(rows, int)]
        for run in np.split(selected, np.flatnonzero(np.diff(selected) != 1) + 1):
            yield from dataset.read(range(run[0], run[-1] + 1) if len(run) else range(0))

    return Articles(request.spec, split or dataset.split, request.seed, rows, read, report)
