"""Sites of a store written for other programs: ``.npz``, ``.safetensors``, or a folder of `datasets`.

What is written is read back by `import_store`, bit for bit. A block of rows is in memory at a time.
"""

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tprprobe.errors import InputError
from tprprobe.files.writing import refuse_existing, whole
from tprprobe.store.dumps.dataset_folders import write_dataset
from tprprobe.store.layout import TOKENS, SiteSpec, arrays_of
from tprprobe.store.numbers import BFLOAT16, as_stored, disk_type
from tprprobe.store.reader import Store

CHUNKS = 8  # of a site that are read at once
SAFE = {"float16": "F16", "float32": "F32", "float64": "F64", BFLOAT16: "BF16"}
EPOCH = (1980, 1, 1, 0, 0, 0)  # of a zip file's members, so that two exports are the same


def export_store(
    store: Store, out: str | os.PathLike[str], sites: str | Iterable[str] | None = None
) -> Path:
    """The file or folder to which sites (globs; default: all but attention maps) were written.

    ``out`` ends in ``.npz`` or ``.safetensors``, with the token table beside it (``.parquet``); without
    an ending it is a folder that `datasets.load_from_disk` reads, a row a sample. bfloat16 stays so
    in safetensors and is float32 elsewhere.

    Raises:
        InputError: no such site, attention maps, another ending, or something lies there already.
    """
    out = Path(out)
    names = store.select(sites) if sites is not None else _vectors(store)
    maps = [name for name in names if store.specs[name].is_attention]
    if maps:
        raise InputError(
            f"{maps[0]} holds attention maps, which no other format here knows: leave it out"
        )
    if out.suffix not in WRITERS:
        raise InputError(
            f"{out} ends in {out.suffix}: give a .npz or .safetensors file, or a folder (no ending)"
        )
    refuse_existing(out)
    specs = {name: store.specs[name] for name in names}
    if out.suffix:
        table = out.with_name(f"{out.stem}.parquet")
        refuse_existing(table)
        with whole(table) as partial:
            shutil.copyfile(store.path / TOKENS, partial)
    with whole(out) as partial:
        WRITERS[out.suffix](store, specs, partial)
    return out


def _vectors(store: Store) -> list[str]:
    return [name for name, spec in store.specs.items() if not spec.is_attention]


def _write_npz(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, spec in specs.items():
            member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            with archive.open(member, "w", force_zip64=True) as stream:
                header = {
                    "descr": disk_type(spec.dtype).str,
                    "fortran_order": False,
                    "shape": _shape(store, name),
                }
                np.lib.format.write_array_header_1_0(stream, header)  # type: ignore[arg-type]
                for block in _blocks(store, name, spec):
                    stream.write(block.reshape(-1).view(np.uint8).data)


def _write_safetensors(store: Store, specs: Mapping[str, SiteSpec], path: Path) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, spec in specs.items():
        shape = _shape(store, name)
        size = int(np.prod(shape)) * (
            2 if spec.dtype == BFLOAT16 else disk_type(spec.dtype).itemsize
        )
        about = {"dtype": SAFE[spec.dtype], "shape": shape, "data_offsets": [start, start + size]}
        header[name], start = about, start + size
    text = json.dumps(header).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    with open(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name, spec in specs.items():
            for block in _blocks(store, name, spec):
                numbers = block.reshape(-1)
                if spec.dtype == BFLOAT16:  # the upper half of a float32
                    numbers = (numbers.view("<u4") >> 16).astype("<u2")
                stream.write(numbers.view(np.uint8).data)


def _blocks(store: Store, name: str, spec: SiteSpec) -> Iterator[np.ndarray]:
    """The rows of a site as they lie on disk."""
    for _rows, values in store.iterate(name, rows_per_block=CHUNKS * spec.chunk_rows):
        yield as_stored(values, spec.dtype)


def _shape(store: Store, name: str) -> tuple[int, ...]:
    spec, rows = arrays_of(store.manifest)[name]
    return (rows, *spec.shape)


WRITERS: dict[str, Callable[[Store, Mapping[str, SiteSpec], Path], None]] = {
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
    "": write_dataset,
}
