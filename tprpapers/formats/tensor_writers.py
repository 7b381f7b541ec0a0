"""Sites of a store in ``.npz`` and ``.safetensors`` files, a block of rows at a time, which `import` reads bit for bit."""

import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tprpapers.formats.token_arrays import SHAPE
from tprprobe.store.dtypes import BFLOAT16, as_stored, disk_type
from tprprobe.store.layout import SiteSpec
from tprprobe.store.reader import Store

CHUNKS = 8  # of a site that are read at once
SAFE = {"float16": "F16", "float32": "F32", "float64": "F64", BFLOAT16: "BF16", "int64": "I64"}
EPOCH = (1980, 1, 1, 0, 0, 0)  # of a zip file's members, so that two exports are the same


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


def write_npz(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in _arrays(store, specs).items():
            member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            with archive.open(member, "w", force_zip64=True) as stream:
                kind = disk_type(array.dtype).str
                header: Any = {"descr": kind, "fortran_order": False, "shape": array.shape}
                np.lib.format.write_array_header_1_0(stream, header)
                for block in array.blocks:
                    stream.write(block.reshape(-1).view(np.uint8).data)


def write_safetensors(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
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
