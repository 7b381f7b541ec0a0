"""The arrays of a store on disk: rows written at their place, and the Zarr metadata over them."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from tprprobe.store.checksums import Checksums, add_to_sum
from tprprobe.store.layout import ARRAYS, SiteSpec


def write_rows(
    folder: Path,
    spec: SiteSpec,
    start: int,
    rows: Shaped[np.ndarray, "token ..."],
    sums: Checksums,
) -> None:
    """Writes rows ``start``, ``start + 1``, … of an array, cuts off what lay behind them and carries
    the checksums of its files on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = 0
    while done < len(rows):
        index, within = divmod(start + done, spec.chunk_rows)
        count = min(spec.chunk_rows - within, len(rows) - done)
        data = rows[done : done + count].reshape(-1).view(np.uint8).data
        file = spec.chunk_file(index)
        write_at(folder / file, within * spec.row_bytes, data)
        add_to_sum(sums, f"{ARRAYS}/{folder.name}/{file}", within == 0, data)
        done += count


def write_at(file: Path, offset: int, data: bytes | memoryview) -> None:
    """Writes at ``offset`` and ends the file there."""
    with open(file, "r+b" if offset else "wb") as stream:
        stream.seek(offset)
        stream.write(data)
        stream.truncate()


def seal(root: Path, arrays: Mapping[str, tuple[SiteSpec, int]]) -> None:
    """Makes a Zarr v3 group of the rows in ``root``: last chunks at full length, and metadata."""
    for name, (spec, rows) in arrays.items():
        for index, size in list(enumerate(spec.chunk_sizes(rows, padded=True)))[-1:]:
            os.truncate(root / name / spec.chunk_file(index), size)
    for key, document in _documents(arrays).items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(document)


def _documents(arrays: Mapping[str, tuple[SiteSpec, int]]) -> dict[str, bytes]:
    """The metadata files of the group by their paths in it."""
    import zarr  # by writers only
    from zarr.storage import MemoryStore

    documents: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(documents))
    names = _dimension_names({name: spec for name, (spec, _) in arrays.items()})
    for name, (spec, rows) in arrays.items():
        group.create_array(
            name,
            shape=(rows, *spec.shape),
            chunks=(max(1, min(rows, spec.chunk_rows)), *spec.shape),
            dtype=spec.dtype,
            compressors=None,
            filters=None,
            fill_value=np.nan if np.dtype(spec.dtype).kind == "f" else 0,
            dimension_names=names[name],
            chunk_key_encoding={"name": "default", "separator": "."},
        )
    with warnings.catch_warnings():  # what xarray looks for first is not in the v3 specification
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(MemoryStore(documents))
    return {key: document.to_bytes() for key, document in documents.items()}


def _dimension_names(arrays: Mapping[str, SiteSpec]) -> dict[str, tuple[str, ...]]:
    """Axis names that each have one size in the store, as xarray demands; other sizes get names of
    their own.
    """
    sizes: dict[str, int] = {}

    def named(axis: str, size: int) -> str:
        return axis if sizes.setdefault(axis, size) == size else f"{axis}_{size}"

    return {
        name: (spec.rows, *map(named, spec.axes[1:], spec.shape)) for name, spec in arrays.items()
    }
