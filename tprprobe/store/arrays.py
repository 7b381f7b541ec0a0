"""The arrays of a store on disk: rows written at their place, and the Zarr metadata over them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from tprprobe.store.dtypes import compress, disk_type, zarr_codec
from tprprobe.store.layout import BEGUN, SiteSpec, dimension_names
from tprprobe.store.manifests import Ledger


def write_rows(
    folder: Path, spec: SiteSpec, start: int, rows: Shaped[np.ndarray, "token ..."], ledger: Ledger
) -> None:
    """Writes rows from ``start`` on and cuts off what lay behind them; a compressed chunk is written when all its rows are there."""
    folder.mkdir(parents=True, exist_ok=True)
    n_written = 0
    while n_written < len(rows):
        index, within = divmod(start + n_written, spec.chunk_rows)
        count = min(spec.chunk_rows - within, len(rows) - n_written)
        data = rows[n_written : n_written + count].reshape(-1).view(np.uint8).data
        file = folder / spec.chunk_file(index)
        if not spec.is_compressed:
            write_at(file, within * spec.row_bytes, data)
            ledger.add(file, data, is_new=within == 0)
        elif within + count < spec.chunk_rows:
            write_at(begun(file), within * spec.row_bytes, data)
        else:
            before = begun(file).read_bytes()[: within * spec.row_bytes] if within else b""
            _write_compressed(file, spec, b"".join([before, data]) if before else data, ledger)
        n_written += count


def _write_compressed(file: Path, spec: SiteSpec, data: bytes | memoryview, ledger: Ledger) -> None:
    packed = compress(data, spec.compression, disk_type(spec.dtype).itemsize)
    write_at(file, 0, packed)
    ledger.add(file, packed, is_new=True, packed=True)


def begun(file: Path) -> Path:
    return file.with_name(file.name + BEGUN)


def remove_begun(folder: Path, spec: SiteSpec, start: int, added: int) -> None:
    index, within = divmod(start, spec.chunk_rows)
    if spec.is_compressed and within and within + added >= spec.chunk_rows:
        begun(folder / spec.chunk_file(index)).unlink(missing_ok=True)


def write_at(file: Path, offset: int, data: bytes | memoryview) -> None:
    """Writes at ``offset`` and ends the file there."""
    with open(file, "r+b" if offset else "wb") as stream:
        stream.seek(offset)
        stream.write(data)
        stream.truncate()


def seal(root: Path, arrays: Mapping[str, tuple[SiteSpec, int]], ledger: Ledger) -> None:
    """Makes a Zarr v3 group of the rows in ``root``: last chunks at full length, and metadata."""
    for name, (spec, rows) in arrays.items():
        for index, size in list(enumerate(spec.chunk_sizes(rows, padded=True)))[-1:]:
            file = root / name / spec.chunk_file(index)
            if not spec.is_compressed:
                os.truncate(file, size)
            elif rows % spec.chunk_rows:
                data = begun(file).read_bytes()[: rows % spec.chunk_rows * spec.row_bytes]
                _write_compressed(file, spec, data.ljust(size, b"\0"), ledger)
    for key, document in documents(arrays).items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(document)


def documents(arrays: Mapping[str, tuple[SiteSpec, int]]) -> dict[str, bytes]:
    """The metadata files of a group of arrays, each with its number of rows, by their paths in it."""
    import zarr  # by writers only
    from zarr.storage import MemoryStore

    documents: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(documents))
    names = dimension_names({name: spec for name, (spec, _) in arrays.items()})
    for name, (spec, rows) in arrays.items():
        group.create_array(
            name,
            shape=(rows, *spec.shape),
            chunks=(max(1, min(rows, spec.chunk_rows)), *spec.shape),
            dtype=disk_type(spec.dtype).newbyteorder("=").name,
            compressors=zarr_codec(spec.compression, disk_type(spec.dtype).itemsize),
            filters=None,
            fill_value=np.nan if disk_type(spec.dtype).kind == "f" else 0,
            dimension_names=names[name],
            chunk_key_encoding={"name": "default", "separator": "."},
        )
    contents = {key: document.to_bytes() for key, document in documents.items()}
    return contents | {"zarr.json": _consolidated(contents, names)}


def _consolidated(documents: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    """The group's document with those of its arrays in it, as ``zarr.consolidate_metadata`` makes it, whose warning no thread can silence alone."""
    group = json.loads(documents["zarr.json"])
    metadata = {name: json.loads(documents[f"{name}/zarr.json"]) for name in sorted(names)}
    inline = {"kind": "inline", "must_understand": False, "metadata": metadata}
    kind = group.pop("node_type")  # zarr writes it last
    content = group | {"consolidated_metadata": inline, "node_type": kind}
    return json.dumps(content, indent=2).encode()
