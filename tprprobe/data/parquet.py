"""Questions in a Parquet file: written once, read again without generating them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.questions import Question
from tprprobe.errors import InputError

COLUMNS = ("question", "answer", "module")
KEY = b"tprprobe"  # of our metadata in the file's
GROUP = 16384  # rows a group: what is decoded to read one row


@dataclass(frozen=True)
class Stored(Dataset[Question]):
    """The questions of a Parquet file."""

    path: Path
    starts: tuple[int, ...]  # first row of every row group

    def read(self, rows: range) -> Iterator[Question]:
        for table in self._tables(rows):
            columns = (table[name].to_pylist() for name in COLUMNS)
            yield from map(Question, *columns)

    def blocks(self, size: int = GROUP) -> Iterator[tuple[list[str], list[str]]]:
        del size  # a row group is decoded as a whole
        for table in self._tables(self.rows):
            yield table["question"].to_pylist(), table["answer"].to_pylist()

    def _tables(self, rows: range) -> Iterator[pa.Table]:
        """The rows as tables, a new one wherever they go on in another row group."""
        numbers = np.array(rows)
        groups = np.searchsorted(self.starts, numbers, side="right") - 1
        runs = np.split(numbers, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else []
        with pq.ParquetFile(self.path) as file:
            for run in runs:
                group = int(np.searchsorted(self.starts, run[0], side="right")) - 1
                yield self._group(file, group).take(pa.array(run - self.starts[group]))

    def _group(self, file: pq.ParquetFile, group: int) -> pa.Table:
        try:
            return file.read_row_group(group, columns=list(COLUMNS))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.path} is damaged ({error}); write it again") from None


def write_parquet(dataset: Dataset[Question], path: str | Path) -> None:
    """Write the questions of a data set, streamed; the file appears when it is complete."""
    path = Path(path)
    about = {"name": dataset.name, "split": dataset.split, "seed": dataset.seed, "n": len(dataset)}
    schema = pa.schema([(name, pa.string()) for name in COLUMNS], {KEY: json.dumps(about)})
    temporary = path.with_name(f".{path.name}.tmp")
    questions = iter(dataset)
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            while block := list(islice(questions, GROUP)):
                columns = [[getattr(question, name) for question in block] for name in COLUMNS]
                writer.write_table(pa.table(columns, schema=schema))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def is_parquet(spec: str) -> bool:
    """Whether a data set is a Parquet file."""
    return spec.endswith(".parquet")


def open_parquet(request: Request) -> Stored:
    """The questions that `write_parquet` wrote, or the first n; name, split and seed are theirs.

    Raises: InputError for a file that is damaged or not ours, another split, or too large an n.
    """
    path = Path(request.spec)
    try:
        file = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is no readable Parquet file ({error}); write it again") from None
    if KEY not in (file.metadata or {}):
        raise InputError(f"{path} was not written by write_parquet; give a file that was")
    about = json.loads(file.metadata[KEY])
    if request.split not in (None, about["split"]):
        raise InputError(f"split {request.split!r} of {path}, which holds {about['split']!r} only")
    sizes = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    rows = request.first_rows(file.num_rows)
    return Stored(about["name"], about["split"], about["seed"], rows, path, starts)
