"""Damage by structure of GGUF and HDF5 files, which stay files of their kind: fields, tensors and data sets of
other types, sizes and names, links out of the file, and what contradicts the rest.
"""

import random
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np

NUMBERS = [0, 1, 2, 3, 7, 31, 2**15, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]
KINDS = ["int8", "uint64", "float64", "float16", "bool", "complex64", "S3", h5py.string_dtype(),
         h5py.ref_dtype, np.dtype([("a", "i4")])]  # fmt: skip
PLACES = ["/etc/hostname", "nothing.h5", "/dev/zero"]


def gguf(file: Path, rng: random.Random) -> None:
    """A part of a field or of what is said of a tensor, with a number or text in its place; or numbers of a tensor."""
    from gguf import GGUFReader

    reader: Any = GGUFReader(file, "r+")
    fields = [field for field in reader.fields.values() if field.offset]
    way = rng.randrange(5)
    if way == 0:  # of a tensor: name, dimensions, type or place
        arrays = rng.choice(reader.tensors).field.parts
        _overwrite(rng.choice(arrays), rng)
    elif way == 1:  # exchanged with what is said of another
        source, target = (rng.choice(reader.tensors).field.parts[-3:] for _ in range(2))
        slot = rng.randrange(3)
        if len(source[slot]) == len(target[slot]):
            source[slot][:], target[slot][:] = target[slot].copy(), source[slot].copy()
    elif way == 2:  # numbers that are none, or all zero
        values = rng.choice(reader.tensors).data.reshape(-1)
        values[: rng.choice([1, len(values)])] = rng.choice([np.nan, np.inf, 0, 1e38])
    elif way == 3:  # a value, which keeps its type
        field = rng.choice(fields)
        _overwrite(field.parts[rng.choice(field.data)], rng)
    else:  # a key, a type, a length
        _overwrite(rng.choice(rng.choice(fields).parts), rng)
    reader.data.flush()


def _overwrite(array: Any, rng: random.Random) -> None:
    index = rng.randrange(len(array)) if len(array) else 0
    if array.dtype.kind == "f":
        array[index] = rng.choice([0, -1, np.nan, np.inf, 1e-38])
    elif len(array):
        near = [int(array[index]) + 1, int(array[index]) - 1, 2 * int(array[index])]
        number = rng.choice([*NUMBERS, *near]) % 2 ** (8 * array.dtype.itemsize)
        array[index] = (
            np.array([number], "u8").astype(f"u{array.dtype.itemsize}").view(array.dtype)[0]
        )


def hdf5(file: Path, rng: random.Random) -> None:
    """A data set of another type, shape, name or content, in another place, or none."""
    with h5py.File(file, "r+") as group:
        name = rng.choice(list(group))
        data: Any = group[name]
        values, way = data[()], rng.randrange(9)
        del group[name]
        if way == 1:
            group[rng.choice(["x", "0", "features", "99999999999999999999", "é"])] = values
        elif way == 2:
            group.create_dataset(name, values.shape, rng.choice(KINDS))
        elif way == 3:
            flat, twice = values.reshape(-1), np.concatenate([values, values])
            shaped = [values[..., None], flat, values[:0], values[()].T, values.flat[0], twice]
            group[name] = rng.choice(shaped)
        elif way == 4:
            _link(group, name, file, rng)
        elif way == 5:
            group.create_group(name)
        elif way == 6:
            group[name] = h5py.Empty(rng.choice(["f4", "S1"]))
        elif way == 7:
            group[name] = _spoiled(values, rng)
        else:
            size = rng.choice([(2**40,), (2**31, 2**31), (10**6, 10**6), (0, 4)])
            group.create_dataset(name, size, "f4", chunks=(1,) * len(size), maxshape=size)


def _link(group: Any, name: str, file: Path, rng: random.Random) -> None:
    place, way = rng.choice(PLACES), rng.randrange(5)
    if way == 0:
        group[name] = h5py.SoftLink(rng.choice([f"/{name}", "/nothing", "/"]))
    elif way == 1:
        shutil.copy(file.parent / file.name, file.parent / "beside.h5")
        group[name] = h5py.ExternalLink("beside.h5", "/")
    elif way == 2:
        group[name] = h5py.ExternalLink(place, f"/{name}")
    elif way == 3:
        group.create_dataset(name, (6, 4), "u1", external=[(place, 0, 24)])
    else:
        layout = h5py.VirtualLayout((6, 4), "f4")
        layout[:] = h5py.VirtualSource(place, name, (6, 4))
        group.create_virtual_dataset(name, layout)


def _spoiled(values: Any, rng: random.Random) -> Any:
    if values.dtype.kind == "f":
        return np.where(rng.random() < 0.5, np.full_like(values, np.nan), np.zeros_like(values))
    text = values.reshape(-1)[0]
    text = text if isinstance(text, bytes) else str(text).encode()
    spoiled = [b"", b"null", b"[]", b'{"": ""}', text[:-1], text.replace(b"0", b"1"),
               text.replace(b"}", b', "d e": "0"}'), text.replace(b" ", b"  "), b"\xff" + text]  # fmt: skip
    return np.full(values.shape, rng.choice(spoiled), "S99")
