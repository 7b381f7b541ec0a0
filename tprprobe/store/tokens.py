"""The token table: blocks appended as Arrow streams while a store is written, Parquet at the end."""

import io
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int

from tprprobe.errors import InputError
from tprprobe.store.layout import SAMPLE, SIDES

ROWS_PER_GROUP = 65536
CATEGORY = pa.dictionary(pa.int32(), pa.string())
NO_TOKENS = pa.table({"side": pa.array([], CATEGORY), "sample": pa.array([], "int64")})


def sort_tokens(tokens: pd.DataFrame) -> pd.DataFrame:
    """The table by sample, each sample's source tokens before its target tokens."""
    side = pd.Categorical(tokens["side"], categories=list(SIDES))
    return tokens.assign(side=side).sort_values(["sample", "side"], kind="stable")


def samples_of(table: pd.DataFrame, rows: str) -> np.ndarray:
    if rows == SAMPLE:
        return table["sample"].unique()
    return table.loc[table["side"] == rows, "sample"].to_numpy()


def join_samples(source: pd.DataFrame) -> pd.DataFrame:
    """One row a sample: its last token's, whose ``token`` becomes all of them, with blanks between."""
    ends = source.drop_duplicates("sample", keep="last").reset_index(drop=True)
    return ends.assign(
        token=pd.Categorical(join_texts(source["token"], source["sample"].to_numpy()))
    )


def join_texts(tokens: pd.Series, samples: np.ndarray, between: str = " ") -> list[str]:
    """The tokens of every sample, samples one after another, as one text."""
    texts = tokens.astype(str).to_numpy(object).tolist()
    starts = starts_of(samples).tolist()
    return [between.join(texts[start:end]) for start, end in pairwise([*starts, len(texts)])]


def encode_block(tokens: pd.DataFrame) -> bytes:
    """One block of the table as a self-contained Arrow stream; every text column is a category."""
    table = pa.Table.from_pandas(tokens, preserve_index=False).replace_schema_metadata(None)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary, pa.types.is_null)
    is_text = [any(test(field.type) for test in texts) for field in table.schema]
    fields = zip(table.schema, is_text, strict=True)
    table = table.cast(pa.schema([f.with_type(CATEGORY) if text else f for f, text in fields]))
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def write_parquet(blocks: Path, size: int, file: Path) -> None:
    """Writes the first ``size`` bytes of blocks as one Parquet file, the same however they were cut."""
    groups = _groups(_read_blocks(blocks, size))
    head = next(groups, NO_TOKENS)
    options: Any = {"compression": "zstd", "dictionary_pagesize_limit": 2**28}
    with pq.ParquetWriter(file, head.schema, **options) as writer:
        for group in chain([head], groups):
            writer.write_table(group)


def _read_blocks(file: Path, size: int) -> Iterator[pa.Table]:
    if size:
        with pa.OSFile(str(file)) as stream:
            while stream.tell() < size:
                yield pa.ipc.open_stream(stream).read_all()


def _groups(blocks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows in tables of ROWS_PER_GROUP rows, whose dictionaries hold only what they use, in order."""
    pending: list[pa.Table] = []
    for block in blocks:
        pending.append(block)
        while sum(map(len, pending)) >= ROWS_PER_GROUP:
            table = pa.concat_tables(pending)
            yield _compact(table[:ROWS_PER_GROUP])
            pending = [table[ROWS_PER_GROUP:]]
    if sum(map(len, pending)):
        yield _compact(pa.concat_tables(pending))


def _compact(table: pa.Table) -> pa.Table:
    table = table.unify_dictionaries().combine_chunks()
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(index).chunk(0)
            encoded = column.indices.dictionary_encode()
            names = column.dictionary.take(encoded.dictionary)
            compact = pa.DictionaryArray.from_arrays(encoded.indices, names)
            table = table.set_column(index, field, compact)
    return table


def read_parquet(file: Path) -> pd.DataFrame:
    table = pq.ParquetFile(file).read().to_pandas()  # read_table imports pyarrow.dataset
    if not table.columns.is_unique:
        name = table.columns[table.columns.duplicated()][0]
        raise InputError(f"{file} has the column {name!r} twice: damaged, extract the store again")
    return table


MEAN, FIRST, LAST = "mean", "first", "last"
AFFIXES = ("##", "Ġ", "▁", " ")  # that mark where a sub-word stands in its word
Bounds = Int[np.ndarray, " span"]


def starts_of(samples: np.ndarray) -> Bounds:
    return np.flatnonzero(np.diff(samples, prepend=-1))


def rows_of(tokens: pd.DataFrame, pool: str) -> Int[np.ndarray, " sample"]:
    """The token of every sample whose vector is the pooled one, of any pool but the mean."""
    starts = starts_of(tokens["sample"].to_numpy())
    if pool == FIRST:
        return starts
    return np.append(starts[1:], len(tokens)) - 1 if pool == LAST else _marks(tokens, pool)


def pool_spans(
    values: Float[np.ndarray, "token ..."], starts: Bounds, state: str
) -> Float[np.ndarray, "span ..."]:
    """The mean, first or last vector of spans that follow one another; sums are of double precision."""
    if state == FIRST or not len(starts):
        return values[starts]
    ends = np.append(starts[1:], len(values))
    if state == LAST:
        return values[ends - 1]
    sums = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
    return (sums / (ends - starts).reshape(-1, *[1] * (values.ndim - 1))).astype(values.dtype)


def _marks(tokens: pd.DataFrame, mark: str) -> Int[np.ndarray, " sample"]:
    symbols = tokens["token"].astype("category").cat
    spelling = symbols.categories.astype(str)
    for affix in AFFIXES:
        spelling = spelling.str.removeprefix(affix)
    is_mark = np.isin(symbols.codes, np.flatnonzero(spelling == mark))
    samples = tokens["sample"].to_numpy()
    lacking = np.setdiff1d(samples, samples[is_mark])
    if len(lacking):
        pools = f"{MEAN}, {FIRST} or {LAST}"
        raise InputError(f"sample {lacking[0]} has no token {mark!r} to pool by: pool by {pools}")
    rows = np.flatnonzero(is_mark)
    return rows[np.append(np.diff(samples[rows]) != 0, True)]
