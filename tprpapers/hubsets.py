"""Data sets of the Hugging Face hub, through `datasets`: of texts by id, of summaries by short names.

Their tables stay on the disk. `datasets:OWNER/NAME[,CONFIGURATION][:COLUMN]` is any set with a column of
texts. `NAME:PATH` reads a local copy instead: a folder of Parquet files, or
`wikihowAll.csv`, which its authors ask everybody to download by hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tprprobe.data.dataset import ALL, Dataset, Request
from tprprobe.data.documents.articlefiles import (
    Article,
    Articles,
    as_text,
    describe_columns,
    find_columns,
    make_article,
)
from tprprobe.data.documents.corpora import SPLITS, choose, find_split
from tprprobe.errors import InputError, check_extra

HUB = {  # repository, configuration
    "xsum": ("EdinburghNLP/xsum", None),
    "cnn_dailymail": ("abisee/cnn_dailymail", "3.0.0"),
    "arxiv": ("ccdv/arxiv-summarization", "document"),
    "wikihow": ("wangwilliamyang/wikihow", "all"),
}
ANY = "datasets"  # the prefix of an id
ROWS = 256  # that are decoded at a time


def load(spec: str, **options: Any) -> Dataset:
    """The articles of a split (of `test` where none is named), or the first n."""
    request = Request(spec, **options)
    name, _, path = request.spec.partition(":")
    place, _, column = path.partition(":") if name == ANY else (path, "", "")
    tables, split = _tables(name, place), request.split or "test"
    if len(tables) == 1 and split in (*SPLITS, ALL):  # a whole
        split = next(iter(tables))
    table = tables[split := find_split(request.spec, split, list(tables))]
    columns = find_columns(table.column_names, f"{request.spec} {split}", column or None)
    report = describe_columns(table.column_names, columns)

    def read(rows: Sequence[int]) -> Iterator[Article]:
        for start in range(0, len(rows), ROWS):
            row_range = rows[start : start + ROWS]
            texts = table[list(row_range)]
            for row, *pair in zip(row_range, *(texts[name] for name in columns), strict=True):
                where = f"{request.spec} {split}, row {row + 1}"
                cells = zip(pair, columns, strict=True)
                yield make_article(columns, (as_text(*cell, where) for cell in cells))

    dataset = replace(Articles.of(request, len(table), read, report), split=split)
    return choose(dataset, request, divided=len(tables) == 1)


def _tables(name: str, path: str) -> Any:
    check_extra("datasets", "summarization", f"the data set {name}")
    import datasets

    spec, _, configured = path.partition(",")
    repository, configuration = HUB.get(name, (spec, configured or None))
    try:
        if not path or name == ANY:
            return datasets.load_dataset(repository, configuration)
        if path.endswith(".csv"):
            return datasets.load_dataset("csv", data_files=path)
        if Path(path).is_dir():
            return datasets.load_dataset("parquet", data_dir=path)
    except Exception as error:  # the library and the hub's client raise dozens of kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"{path or name} could not be had ({reason}); give a copy of its files as {name}:PATH"
        ) from None
    raise InputError(f"no folder or CSV file {path!r}; give a copy of {name}'s files")
