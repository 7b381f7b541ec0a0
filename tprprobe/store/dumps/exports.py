"""Sites of a store written for other programs: ``.npz``, ``.safetensors``, or a folder of `datasets`.

What is written is read back by `import_store`, bit for bit. A block of rows is in memory at a time.
"""

import filecmp
import json
import math
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tprprobe import plugins
from tprprobe.errors import InputError
from tprprobe.files.locks import alone
from tprprobe.files.writing import refuse_existing, whole
from tprprobe.store.dtypes import BFLOAT16, as_stored, disk_type
from tprprobe.store.dumps.dump import Format, Writer
from tprprobe.store.dumps.token_arrays import SHAPE
from tprprobe.store.layout import TOKENS, SiteSpec
from tprprobe.store.reader import Store, takes_paths

CHUNKS = 8  # of a site that are read at once
SAFE = {"float16": "F16", "float32": "F32", "float64": "F64", BFLOAT16: "BF16", "int64": "I64"}
EPOCH = (1980, 1, 1, 0, 0, 0)  # of a zip file's members, so that two exports are the same


@takes_paths
def export_store(
    store: Store, out: str | os.PathLike[str], sites: str | Iterable[str] | None = None
) -> Path:
    """The file or folder to which vectors of a store were written, for other programs.

    Args:
        store: The store.
        out: A new file, ``.npz`` or ``.safetensors``, which gets the token table beside it (``.parquet``); or without
            an ending a folder for ``datasets.load_from_disk``, a row a sample. bfloat16 becomes float32, except in
            safetensors.
        sites: Sites to write, as patterns; default: all.

    Returns:
        The path of the file or folder.

    Raises:
        InputError: No such site, another ending, something that lies there already, or another process that writes it.

    Examples:
        >>> tp.export_store(store, "roles.npz", "encoder.*.role").name
        'roles.npz'
    """
    out = Path(out)
    names = store.select("*" if sites is None else sites)
    formats: list[Format] = [*plugins.load_all("formats").values()]
    writers = {ending: w for form in formats for ending, w in form.writers.items()} | WRITERS
    if out.suffix not in writers:
        raise InputError(
            f"{out} ends in {out.suffix}: give a .npz or .safetensors file, or a folder (no ending)"
        )
    if not names:
        raise InputError("no site to export: give one or several, or leave them out for all")
    specs = {name: store.specs[name] for name in names}
    with alone(out), ExitStack() as stack:
        refuse_existing(out)
        file = stack.enter_context(whole(out))  # the last one that appears
        if out.suffix:
            table = out.with_name(f"{out.stem}.parquet")
            if not table.is_file() or not filecmp.cmp(table, store.path / TOKENS, shallow=False):
                refuse_existing(table)  # unless a killed export left it
            shutil.copyfile(store.path / TOKENS, stack.enter_context(whole(table)))
        writers[out.suffix](store, specs, file)
    return out


class Array(NamedTuple):
    """An array to write: the type of its numbers, its shape, and its rows as they lie on disk."""

    dtype: str
    shape: tuple[int, ...]
    blocks: Iterable[np.ndarray]


def _arrays(store: Store, specs: Mapping[str, SiteSpec]) -> dict[str, Array]:
    """The arrays of sites, and those that say the shapes of attention maps."""
    arrays = {}
    for name, spec in specs.items():
        shape = (store.count_rows(name), *spec.shape)
        arrays[name] = Array(spec.dtype, shape, _blocks(store, name, spec))
        if spec.is_attention:
            shapes = store.map_shapes(name).astype("<i8")
            arrays[spec.rows + SHAPE] = Array("int64", shapes.shape, [shapes])
    return arrays


def _blocks(store: Store, name: str, spec: SiteSpec) -> Iterator[np.ndarray]:
    for _, values in store.iterate(name, rows_per_block=CHUNKS * spec.chunk_rows):
        yield as_stored(values, spec.dtype)


def _write_npz(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in _arrays(store, specs).items():
            member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            with archive.open(member, "w", force_zip64=True) as stream:
                kind = disk_type(array.dtype).str
                header: Any = {"descr": kind, "fortran_order": False, "shape": array.shape}
                np.lib.format.write_array_header_1_0(stream, header)
                for block in array.blocks:
                    stream.write(block.reshape(-1).view(np.uint8).data)


def _write_safetensors(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    arrays, start = _arrays(store, specs), 0
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    for name, array in arrays.items():
        width = 2 if array.dtype == BFLOAT16 else disk_type(array.dtype).itemsize
        end = start + math.prod(array.shape) * width
        facts = {"dtype": SAFE[array.dtype], "shape": array.shape}
        header[name] = facts | {"data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    with open(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            for block in array.blocks:
                numbers = block.reshape(-1)
                if array.dtype == BFLOAT16:  # the upper half of a float32
                    numbers = (numbers.view("<u4") >> 16).astype("<u2")
                stream.write(numbers.view(np.uint8).data)


WRITERS: dict[str, Writer] = {".npz": _write_npz, ".safetensors": _write_safetensors}
