"""Feature vectors of images in a file, read when they are needed.

- `.npy`: [image, width], in the order of the file of captions.
- `.h5`, `.hdf5` (the extra ``hdf5``) and `.zarr`: an array `features` and, beside it, `image_id`;
  without it, in the order of the file of captions.
- `.parquet`: columns `image_id` and `features` (lists).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import zarr
from jaxtyping import Float32

from tprpapers.formats.hdf5 import get_array, open_hdf5
from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error, check_claim

ARRAY, NAMES = "features", "image_id"
CHECKED = 1024  # vectors that are looked through at a time


@dataclass(frozen=True, eq=False)
class Features:
    """An array of vectors, in memory or on disk, and the names of its images if it has them."""

    path: Path
    vectors: Any
    names: tuple[str, ...] | None

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    def rows(self, images: Sequence[str]) -> list[int]:
        """The rows of these images' vectors.

        Raises: InputError if any is missing, or there are more or fewer and none has a name.
        """
        if self.names is None:
            if len(images) != self.vectors.shape[0]:
                raise InputError(
                    f"{self.path} has {self.vectors.shape[0]} feature vectors for {len(images)} images: "
                    f"give one each in their order, or '{NAMES}' beside them"
                )
            return list(range(len(images)))
        places = {name: row for row, name in enumerate(self.names)}
        missing = [image for image in images if image not in places]
        if missing:
            raise InputError(
                f"{self.path} has no features of image {missing[0]} ({len(missing)} of {len(images)} "
                "images are missing): compute them, or leave out these images"
            )
        return [places[image] for image in images]

    def read(self, row: int) -> Float32[np.ndarray, " width"]:
        """The vector in a row."""
        return np.asarray(self.vectors[row], np.float32)


def open_features(path: Path) -> Features:
    """The checked feature vectors of a file.

    Raises: InputError for what is no matrix of numbers, and for a vector with NaN or infinity.
    """
    if path.suffix not in FORMATS:
        raise unknown("format of features", path.suffix or path.name, FORMATS)
    if not path.exists():
        raise InputError(f"no features at {str(path)!r}; give a file that is there")
    with as_input_error(f"{path} cannot be read as features"):
        vectors, names = FORMATS[path.suffix](path)
        features = Features(path, vectors, None if names is None else tuple(map(_name, names)))
        _check(features)
    return features


def _check(features: Features) -> None:
    vectors, names, path = features.vectors, features.names, features.path
    if len(vectors.shape) != 2 or np.dtype(vectors.dtype).kind not in "fiu":
        raise InputError(
            f"{path} holds {vectors.dtype} of shape {vectors.shape}: give [image, width]"
        )
    if names is not None and len(names) != vectors.shape[0]:
        raise InputError(
            f"{path} has {len(names)} names for {vectors.shape[0]} vectors; give one each"
        )
    for start in range(0, vectors.shape[0], CHECKED):
        finite = np.isfinite(np.asarray(vectors[start : start + CHECKED])).all(1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            image = f" (image {names[row]})" if names else ""
            raise InputError(f"{path}: vector {row}{image} has NaN or infinity; compute it again")


def _name(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _hdf5(path: Path) -> tuple[Any, Any]:
    file = open_hdf5(path, NAMES)
    arrays = {name: get_array(file, name) for name in (ARRAY, NAMES) if name in file}
    for name, array in arrays.items():
        check_claim(array.nbytes, array.id.get_storage_size(), f"{path}: {name}")
    return get_array(file, ARRAY), arrays[NAMES][:] if NAMES in arrays else None


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _zarr(path: Path) -> tuple[Any, Any]:
    group: Any = zarr.open(path, mode="r")
    if isinstance(group, zarr.Array):
        check_claim(group.nbytes, _size(path), str(path))
        return group, None
    for name in {ARRAY, NAMES} & set(group):
        check_claim(group[name].nbytes, _size(path), f"{path}: {name}")
    return group[ARRAY], np.asarray(group[NAMES]) if NAMES in group else None


def _parquet(path: Path) -> tuple[Any, Any]:
    table = pq.read_table(path, columns=[NAMES, ARRAY])
    lengths = set(table[ARRAY].combine_chunks().value_lengths().to_pylist())
    if len(lengths) != 1:
        raise ValueError(f"vectors of {len(lengths)} widths")
    flat = table[ARRAY].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(table), -1), table[NAMES].to_pylist()


FORMATS: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    ".npy": lambda path: (np.load(path, mmap_mode="r", allow_pickle=False), None),
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".zarr": _zarr,
    ".parquet": _parquet,
}
