"""Arrays in ``.npz``, ``.npy`` and ``.safetensors`` files, one a site, with a token table beside them.

An array's rows are the tokens of one side, all samples one after another, or one a sample. Its name
is the site's; ``decoder.…`` are target tokens, as everywhere.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.errors import InputError
from tprprobe.site.patterns import side_of
from tprprobe.store.dumps.dump import BLOCK_BYTES, Block, Dump, vector_spec
from tprprobe.store.dumps.symbols import find_table, read_table
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.numbers import BFLOAT16

NAME = re.compile(r"\w+(\.\w+)*")
# of safetensors; numpy has no bfloat16, whose bits are the upper half of a float32
TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
DAMAGE = (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError)


class Halves:
    """bfloat16 numbers, of which rows are read as the float32 numbers that they are."""

    dtype = np.dtype("<f4")

    def __init__(self, bits: np.ndarray):
        self.bits, self.shape = bits, bits.shape

    def __getitem__(self, rows: slice) -> np.ndarray:
        return (self.bits[rows].astype("<u4") << 16).view("<f4")

    def __len__(self) -> int:
        return len(self.bits)


Arrays = Mapping[str, np.ndarray | Halves]


class ArrayFile(Dump):
    """The arrays of a file, read from disk as they are needed."""

    def __init__(self, path: Path, tokens: Path | None = None):
        self.path = path
        self.arrays = read_arrays(path)
        self.table = read_table(find_table(path, tokens))
        self.specs = {name: self._spec(name) for name in self.arrays}

    @staticmethod
    def reads(path: Path) -> bool:
        """True if the file's name ends like one of arrays."""
        return path.suffix in READERS

    def _spec(self, name: str) -> SiteSpec:
        array = self.arrays[name]
        side, samples = side_of(name), self.table["sample"].nunique()
        tokens = int((self.table["side"] == side).sum())
        if not NAME.fullmatch(name):
            raise InputError(
                f"{self.path}: {name!r} is no name of a site: give one like layers.0.hidden"
            )
        rows = {samples: SAMPLE, tokens: side}.get(array.shape[0] if array.shape else -1)
        if rows is None:
            raise InputError(
                f"{self.path}: {name} has shape {tuple(array.shape)}, but the table has {tokens} {side} "
                f"tokens of {samples} samples: an array has a row a token, or a row a sample"
            )
        if (
            rows == SAMPLE
            and self.table.loc[self.table["side"] == SIDES[0], "sample"].nunique() < samples
        ):
            raise InputError(
                f"{self.path}: {name} has a row a sample, but some have no source tokens"
            )
        dtype = BFLOAT16 if isinstance(array, Halves) else array.dtype.newbyteorder("=").name
        return vector_spec(name, rows, array.shape[1:], dtype, self.path)

    def blocks(self, first: int) -> Iterator[Block]:
        sizes = sum(self._counts(spec.rows) * spec.row_bytes for spec in self.specs.values())
        ends = {rows: np.cumsum(self._counts(rows)) for rows in (*SIDES, SAMPLE)}
        samples = self.table["sample"].to_numpy()
        budget, total = np.cumsum(sizes), samples[-1] + 1 if len(samples) else 0
        while first < total:
            before = budget[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(budget, before + BLOCK_BYTES, "right")))
            place = slice(*np.searchsorted(samples, [first, last]))
            yield (
                {
                    name: self._rows(name, ends[spec.rows], first, last)
                    for name, spec in self.specs.items()
                },
                self.table.iloc[place],
            )
            first = last

    def _counts(self, rows: str) -> np.ndarray:
        """The rows of every sample, of a kind of rows."""
        samples = self.table["sample"].to_numpy()
        total = samples[-1] + 1 if len(samples) else 0
        if rows == SAMPLE:
            return np.ones(total, int)
        return np.bincount(samples[(self.table["side"] == rows).to_numpy()], minlength=total)

    def _rows(self, name: str, ends: np.ndarray, first: int, last: int) -> np.ndarray:
        start = int(ends[first - 1]) if first else 0
        return np.asarray(self.arrays[name][start : int(ends[last - 1])])


def read_arrays(path: Path) -> Arrays:
    """The arrays of a file by name, mapped into memory; those of a compressed file are read.

    Raises:
        InputError: a damaged file, or one without arrays.
    """
    try:
        found = READERS[path.suffix](path)
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as arrays: {reason}") from error
    if not found:
        raise InputError(f"{path} holds no arrays")
    return found


def _read_npy(path: Path) -> Arrays:
    return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False)}


def _read_npz(path: Path) -> Arrays:
    with zipfile.ZipFile(path) as archive:
        return {
            info.filename.removesuffix(".npy"): _member(path, archive, info)
            for info in archive.infolist()
        }


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """An array of a zip file: mapped where it is stored as it is, else read."""
    with archive.open(info) as stream:
        if info.compress_type != zipfile.ZIP_STORED:
            return np.lib.format.read_array(stream, allow_pickle=False)
        version = np.lib.format.read_magic(stream)
        read: Any = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream)
        header = stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects")
    with open(path, "rb") as file:  # the local header may be longer than the directory's
        file.seek(info.header_offset + 26)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    start = info.header_offset + 30 + name + extra + header
    return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")


def _read_safetensors(path: Path) -> Arrays:
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > path.stat().st_size:
            raise ValueError("its header is cut short")
        header = json.loads(file.read(size))
    arrays: dict[str, Any] = {}
    for name, about in header.items():
        if name != "__metadata__":
            if about["dtype"] not in TYPES:
                raise ValueError(f"{name} holds {about['dtype']}; vectors are {', '.join(TYPES)}")
            start = 8 + size + about["data_offsets"][0]
            array = np.memmap(path, TYPES[about["dtype"]], "r", start, tuple(about["shape"]))
            arrays[name] = Halves(array) if about["dtype"] == "BF16" else array
    return arrays


READERS = {".npz": _read_npz, ".npy": _read_npy, ".safetensors": _read_safetensors}
