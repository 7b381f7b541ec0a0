"""Folders of the `datasets` library (Arrow files), a row a sample.

SAELens's cached activations: a column a hook, [context, d_in], and ``token_ids``. What `export_store`
writes: a column a site, the rows of the sample's tokens or its attention map; columns of the token table as lists, or one
value a sample. Source: ``sae_lens.cache_activations_runner``, and the folders of ``save_to_disk``.
Only Arrow is needed to read them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from tprpapers.formats.dataset_writer import write_dataset
from tprpapers.formats.samples import natural, read_pieces
from tprpapers.formats.token_arrays import Maps, TokenArrays
from tprpapers.formats.token_tables import complete_table, find_table, read_table
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import read_json
from tprprobe.site.patterns import ATTENTION, side_of
from tprprobe.store.dumps.dump import Format, count_rows

STATE = "state.json"
TOKEN_IDS = "token_ids"
pc: Any = pyarrow.compute  # whose functions are made when it is imported


class Column:
    """The vectors of a column, in the views of Arrow's memory maps."""

    def __init__(self, name: str, chunks: Sequence[pa.Array]):
        self.name = name
        self.views = [_view(name, chunk) for chunk in chunks]
        shapes = {view.shape[1:] for view in self.views}
        if len(shapes) != 1:
            raise ValueError(f"{name} has rows of {len(shapes)} shapes")
        self.ends = np.cumsum([len(view) for view in self.views]).tolist()
        self.shape = (self.ends[-1], *shapes.pop())
        self.kind = self.views[0].dtype.name

    def __getitem__(self, rows: slice) -> np.ndarray:
        blocks = []
        for view, end in zip(self.views, self.ends, strict=True):
            before = end - len(view)
            if rows.start < end and before < rows.stop:
                blocks.append(view[max(0, rows.start - before) : rows.stop - before])
        return blocks[0] if len(blocks) == 1 else np.concatenate([self.views[0][:0], *blocks])


def is_dataset(path: Path) -> bool:
    """True for a folder that `datasets` saved, or shards of one as older versions of SAELens left them."""
    return path.is_dir() and bool(_folders(path))


def open_dataset(path: Path, tokens: Path | None, _layers: object = None) -> TokenArrays:
    """The columns of vectors of a folder, with the tokens that it has, or those of a table beside it."""
    with as_input_error(f"{path} cannot be read as a datasets folder"):
        streams = [pa.ipc.open_stream(pa.memory_map(str(file))) for file in _files(path)]
        table = pa.concat_tables(
            [stream.read_all().replace_schema_metadata(None) for stream in streams]
        )
        table.validate(full=True)  # offsets: PyArrow follows wrong ones out of the file's memory
        if not table.num_rows:
            raise InputError(f"{path} has no rows")
        kinds = {field.name: _depth(field.type) for field in table.schema}
        vectors = [
            n for n, (depth, numeric, fixed) in kinds.items() if numeric and depth + fixed > 1
        ]
        token_columns = table.drop_columns(vectors)
        chunks = {
            name: [c.storage if isinstance(c, pa.ExtensionArray) else c for c in table[name].chunks]
            for name in vectors
        }
        maps = {n: _maps(n, stream) for n, stream in chunks.items() if n.endswith(ATTENTION)}
        arrays = {n: Column(n, stream) for n, stream in chunks.items() if n not in maps}
        symbols = _tokens(path, token_columns, tokens)
        for name in [name for name in arrays if kinds[name][0] > 1]:
            _check_lengths(path, name, chunks[name], symbols)
        return TokenArrays(path, arrays, symbols, maps)


def _folders(path: Path) -> list[Path]:
    if (path / STATE).is_file():
        return [path]
    return sorted(
        (child for child in path.glob("shard_*") if (child / STATE).is_file()), key=natural
    )


def _files(path: Path) -> Iterator[Path]:
    if not _folders(path):
        raise InputError(
            f"{path} has no {STATE}: give a folder that `datasets` saved (save_to_disk)"
        )
    for folder in _folders(path):
        state = read_json(folder / STATE)
        if state.get("_indices_data_files"):
            raise InputError(
                f"{folder} was shuffled or filtered: save it again after flatten_indices()"
            )
        for file in state["_data_files"]:
            yield folder / Path(file["filename"]).name


def _depth(kind: pa.DataType) -> tuple[int, bool, bool]:
    """How deep lists lie in each other, whether floats lie in them, and whether the outer is of fixed length."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    fixed, depth = pa.types.is_fixed_size_list(kind), 0
    while _is_list(kind):
        kind, depth = kind.value_type, depth + 1
    return depth, pa.types.is_floating(kind), fixed


def _is_list(kind: Any) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _view(name: str, array: Any) -> np.ndarray:
    """The numbers of nested lists as an array [row, …]: the outer lists end to end, if there are two."""
    if _is_list(array.type) and _is_list(array.type.value_type):
        array = _flat(name, array)
    shape: list[int] = [len(array)]
    while _is_list(array.type):
        widths = pc.unique(pc.list_value_length(array)).to_pylist()
        if len(widths) > 1:
            raise ValueError(f"{name} has vectors of {widths[0]} and of {widths[1]} numbers")
        shape.append(widths[0] if widths else getattr(array.type, "list_size", 0))
        array = _flat(name, array)
    if array.null_count:
        raise ValueError(f"{name} has gaps among its numbers")
    return array.to_numpy(zero_copy_only=True).reshape(shape)


def _flat(name: str, array: Any) -> Any:
    if array.null_count:
        raise ValueError(f"{name} has gaps among its lists")
    return array.flatten()


def _maps(name: str, chunks: Sequence[Any]) -> Maps:
    """The attention maps of a column: lists [query][key][head], null behind the first samples."""
    is_valid = np.concatenate([chunk.is_valid().to_numpy(zero_copy_only=False) for chunk in chunks])
    if np.any(is_valid[1:] & ~is_valid[:-1]):
        raise ValueError(f"{name} lacks the maps of a sample before others")
    lists = [chunk.flatten() for chunk in chunks]  # of keys, a list a query
    queries = np.concatenate([pc.list_value_length(chunk.drop_null()) for chunk in chunks])
    n_keys = np.concatenate([pc.list_value_length(chunk) for chunk in lists])
    keys = n_keys[np.cumsum(queries) - queries] if queries.all() else queries
    if not np.array_equal(np.repeat(keys, queries), n_keys):
        raise ValueError(f"{name} has a map whose queries have unlike numbers of keys")
    pairs = Column(name, [chunk.flatten() for chunk in lists])
    return Maps(pairs, np.stack([queries, keys], 1).astype(np.int64))


def _check_lengths(path: Path, name: str, chunks: list[Any], table: pd.DataFrame) -> None:
    n_vectors = np.concatenate([pc.list_value_length(chunk).to_numpy() for chunk in chunks])
    count = count_rows(table, side_of(name), len(n_vectors))
    if len(count) != len(n_vectors):
        raise InputError(f"{path}: {name} has {len(n_vectors)} samples, the table {len(count)}")
    if (count != n_vectors).any():
        sample = int((count != n_vectors).argmax())
        raise InputError(
            f"{path}, sample {sample}: {name} has {n_vectors[sample]} vectors for {count[sample]} "
            f"{side_of(name)} tokens"
        )


def _tokens(path: Path, table: pa.Table, tokenizer: Path | None) -> pd.DataFrame:
    """The token table: from lists and values a sample, or the table given."""
    ids = TOKEN_IDS in table.column_names
    if not ids and "token" not in table.column_names:
        return read_table(find_table(path, tokenizer))
    lists = [name for name in table.column_names if _is_list(table.schema.field(name).type)]
    lead = TOKEN_IDS if ids else "token"
    lengths = pc.list_value_length(table.column(lead)).to_numpy()
    sample = np.repeat(np.arange(len(lengths)), lengths)
    columns: dict[str, Any] = {"sample": sample}
    for name in table.column_names:
        column = table.column(name)
        if name in lists:
            if not np.array_equal(pc.list_value_length(column).to_numpy(), lengths):
                raise InputError(f"{path}: {name} has other lengths than {lead}")
            columns[name] = pc.list_flatten(column).to_pandas().to_numpy()
        elif name != "sample":
            columns[name] = column.to_pandas().to_numpy()[sample]
    if ids:
        codes, numbers = pd.factorize(columns.pop(TOKEN_IDS))
        spellings = np.array(read_pieces(tokenizer)(numbers.tolist()), object)
        token = pd.Categorical(spellings[codes])
        columns |= {"id": numbers[codes].astype(np.int32), "token": token}
    return complete_table(pd.DataFrame(columns), path)


FORMAT = Format(
    "a folder of datasets, SAELens's cached activations",
    is_dataset,
    open_dataset,
    frozenset({"tokens"}),
    {"": write_dataset},
)
