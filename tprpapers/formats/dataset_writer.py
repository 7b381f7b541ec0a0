"""A folder of the `datasets` library, written from a store: a row a sample, without that library.

A site is a list of vectors, one a token (or one vector, where there is one a sample); an attention map
lists [query][key][head], null in samples without one; a column of the token table is a list, or one value where
all tokens of every sample have the same.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tprprobe.store.dtypes import as_stored, disk_type
from tprprobe.store.dumps.dump import count_rows, spans
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.reader import Store

DATA, STATE, INFO = "data-00000-of-00001.arrow", "state.json", "dataset_info.json"
LISTED = ("side", "position", "id", "token")  # a list a sample, whatever they hold


def write_dataset(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    """Writes the samples of a store, a block at a time, as `datasets` saves them."""
    path.mkdir()
    columns = _columns(store.tokens)
    schema = pa.schema([*columns, *(pa.field(name, _type(spec)) for name, spec in specs.items())])
    features = {field.name: _feature(field.type) for field in schema}
    metadata = json.dumps({"info": {"features": features}})
    with pa.ipc.new_stream(
        str(path / DATA), schema.with_metadata({"huggingface": metadata})
    ) as writer:
        sizes = [_counts(store, name) * spec.row_bytes for name, spec in specs.items()]
        for start, end in spans(np.sum(sizes, 0)):
            writer.write_batch(_batch(store, specs, schema, start, end))
    info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
    state = {"_data_files": [{"filename": DATA}], "_fingerprint": store.fingerprint[:16]}
    state |= {"_format_columns": None, "_format_kwargs": {}, "_format_type": None}
    state |= {"_output_all_columns": False, "_split": None}
    for name, content in ((INFO, info), (STATE, state)):
        (path / name).write_text(json.dumps(content, indent=2), "utf-8")


def _columns(tokens: pd.DataFrame) -> list[pa.Field]:
    """The columns of the token table: lists, or values of whole samples."""
    plain = pa.Schema.from_pandas(tokens, preserve_index=False)
    fields = []
    for name in [str(name) for name in tokens if name != SAMPLE]:
        kind = plain.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        kind = pa.string() if pa.types.is_large_string(kind) or pa.types.is_null(kind) else kind
        is_of_samples = name not in LISTED and _is_of_samples(tokens, name)
        fields.append(pa.field(name, kind if is_of_samples else pa.list_(kind)))
    return fields


def _is_of_samples(tokens: pd.DataFrame, name: str) -> bool:
    changes = np.diff(pd.factorize(tokens[name])[0]) != 0
    return not (changes & (np.diff(tokens["sample"]) == 0)).any()


def _type(spec: SiteSpec) -> pa.DataType:
    kind = pa.from_numpy_dtype(disk_type(spec.dtype))
    for size in reversed(spec.shape):
        kind = pa.list_(kind, size)
    if spec.is_attention:
        return pa.list_(pa.list_(kind))
    return kind if spec.rows == SAMPLE else pa.list_(kind)


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_fixed_size_list(kind):
        return {"feature": _feature(kind.value_type), "length": kind.list_size, "_type": "Sequence"}
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    names = {pa.float16(): "float16", pa.float32(): "float32", pa.float64(): "float64"}
    return {"dtype": names.get(kind, str(kind)), "_type": "Value"}


def _counts(store: Store, name: str) -> np.ndarray:
    """The rows of a site that every sample has."""
    rows = store.specs[name].rows
    if rows in (*SIDES, SAMPLE):
        return count_rows(store.tokens, rows, store.samples)
    pairs = store.map_shapes(name).prod(1)
    return np.append(pairs, np.zeros(store.samples - len(pairs), int))


def _batch(
    store: Store, specs: Mapping[str, SiteSpec], schema: pa.Schema, start: int, end: int
) -> pa.RecordBatch:
    samples = store.tokens["sample"].to_numpy()
    edges = np.searchsorted(samples, np.arange(start, end + 1))
    table = store.tokens.iloc[edges[0] : edges[-1]]
    starts = edges - edges[0]

    def column(name: str, kind: Any) -> pa.Array:
        if name in specs:
            return _vectors(store, name, specs[name], start, end)
        if pa.types.is_list(kind):
            values = pa.array(table[name], from_pandas=True).cast(kind.value_type)
            return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), values)
        return pa.array(table[name].iloc[starts[:-1]], from_pandas=True).cast(kind)

    return pa.record_batch([column(field.name, field.type) for field in schema], schema=schema)


def _vectors(store: Store, name: str, spec: SiteSpec, start: int, end: int) -> pa.Array:
    """The vectors or maps of samples as nested lists."""
    ends = np.concatenate([[0], np.cumsum(_counts(store, name))])
    rows = store.read(name, slice(int(ends[start]), int(ends[end])))
    array: Any = pa.array(as_stored(rows, spec.dtype).reshape(-1))
    for size in reversed(spec.shape):
        array = pa.FixedSizeListArray.from_arrays(array, size)
    if spec.rows == SAMPLE:
        return array
    if not spec.is_attention:
        return _lists(np.diff(ends[start : end + 1]), array)
    # lists of queries of keys; null for samples behind the last that has maps
    queries, keys = store.map_shapes(name)[start:end].T
    lacking = np.arange(end - start) >= len(queries)
    by_sample = np.append(queries, np.zeros(lacking.sum(), int))
    return _lists(by_sample, _lists(np.repeat(keys, queries), array), pa.array(lacking))


def _lists(lengths: np.ndarray, values: pa.Array, mask: pa.Array | None = None) -> pa.Array:
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=mask)
