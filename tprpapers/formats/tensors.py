"""Arrays in ``.npz``, ``.npy`` and ``.safetensors`` files, one a site, with a token table beside them.

An array's rows are the tokens of one side, all samples one after another, or one a sample; of attention maps pairs
of tokens (see `token_arrays`). Its name is the site's; ``decoder.…`` are target tokens, as everywhere.
"""

import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tprpapers.formats.tensor_writers import write_npz, write_safetensors
from tprpapers.formats.token_arrays import Numbers, TokenArrays, take_maps
from tprpapers.formats.token_tables import find_table, read_table
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error, check_claim
from tprprobe.files.jsonfiles import parse_json
from tprprobe.store.dtypes import BFLOAT16
from tprprobe.store.dumps.dump import Format

# of safetensors; numpy has no bfloat16, whose bits are the upper half of a float32
TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
IDS = {"I64": "<i8", "I32": "<i4"}


@dataclass(frozen=True)
class Tensor:
    """An array in a file; of bfloat16 numbers the bits, which are read as float32."""

    data: np.ndarray
    is_bfloat16: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def kind(self) -> str:
        return BFLOAT16 if self.is_bfloat16 else self.data.dtype.newbyteorder("=").name

    def __getitem__(self, rows: slice) -> np.ndarray:
        if self.is_bfloat16:  # the upper half of a float32
            return np.left_shift(self.data[rows], 16, dtype="<u4").view("<f4")
        return np.asarray(self.data[rows])


def open_arrays(path: Path, tokens: Path | None, _layers: object = None) -> TokenArrays:
    """The arrays of a file, read from disk as they are needed, with their token table."""
    arrays: dict[str, Numbers] = dict(read_tensors(path))
    maps = take_maps(path, arrays)
    return TokenArrays(path, arrays, read_table(find_table(path, tokens)), maps)


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """The arrays of a file by name, mapped into memory; those of a compressed file are read."""
    with as_input_error(f"{path} cannot be read as arrays"):
        tensors = READERS[path.suffix](path)
    if not tensors:
        raise InputError(f"{path} holds no arrays")
    return tensors


def _read_npz(path: Path) -> dict[str, Tensor]:
    with zipfile.ZipFile(path) as archive:
        infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return {name: Tensor(_member(path, archive, info)) for name, info in infos.items()}


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """An array of a zip file: mapped where it is stored as it is, else read."""
    with archive.open(info) as stream:
        if info.compress_type != zipfile.ZIP_STORED:
            check_claim(info.file_size, info.compress_size, info.filename)
            return np.lib.format.read_array(stream, allow_pickle=False)
        form = np.lib.format
        read_header: Any = form.read_array_header_2_0
        if form.read_magic(stream) == (1, 0):
            read_header = form.read_array_header_1_0
        shape, fortran, dtype = read_header(stream)
        header = stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects")
    if header + math.prod(shape) * dtype.itemsize > info.file_size:
        raise ValueError(f"{info.filename} of shape {shape} is cut short")
    with open(path, "rb") as file:  # the local header may be longer than the directory's
        file.seek(info.header_offset + 26)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    start = info.header_offset + 30 + name + extra + header
    return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > path.stat().st_size:
            raise ValueError("its header is cut short")
        header = parse_json(file.read(size), "its header")
    header.pop("__metadata__", None)
    return {name: _tensor(path, name, facts, 8 + size) for name, facts in header.items()}


def _tensor(path: Path, name: str, facts: Mapping[str, Any], start: int) -> Tensor:
    types = TYPES | IDS
    if facts["dtype"] not in types:
        raise ValueError(f"{name} holds {facts['dtype']}; vectors are {', '.join(TYPES)}")
    dtype, shape = np.dtype(types[facts["dtype"]]), tuple(map(int, facts["shape"]))
    begin, end = facts["data_offsets"]
    if min(shape, default=0) < 0 or end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} of shape {shape} does not take {end - begin} bytes")
    if start + end > path.stat().st_size or begin < 0:
        raise ValueError(f"{name} ends after the end of the file")
    is_empty = not math.prod(shape)
    data = np.empty(shape, dtype) if is_empty else np.memmap(path, dtype, "r", start + begin, shape)
    return Tensor(data, facts["dtype"] == "BF16")


READERS: dict[str, Callable[[Path], Mapping[str, Tensor]]] = {
    ".npz": _read_npz,
    ".npy": lambda path: {path.stem: Tensor(np.load(path, mmap_mode="r", allow_pickle=False))},
    ".safetensors": _read_safetensors,
}

FORMAT = Format(
    ".npz, .npy or .safetensors with a token table",
    lambda path: path.is_file() and path.suffix in READERS,
    open_arrays,
    frozenset({"tokens"}),
    {".npz": write_npz, ".safetensors": write_safetensors},
)
