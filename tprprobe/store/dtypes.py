"""The numbers of a store as they lie on disk: their types, and their compression.

bfloat16 numbers lie as float32 numbers, which every reader of Zarr reads, and are compressed to less than 2 bytes.
"""

from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from jaxtyping import Shaped

from tprprobe.errors import InputError, unknown

if TYPE_CHECKING:
    from zarr.codecs import BloscCodec

BFLOAT16 = "bfloat16"
TYPES = ("float32", "float16", BFLOAT16)  # that vectors can be kept in
NONE = "none"
LEVELS = {"lz4": 5, "zstd": 3}  # of Blosc's codecs, after its shuffle of bytes
COMPRESSIONS = (NONE, *LEVELS)


def check_storage(dtype: str | None, compression: str | None) -> None:
    if dtype not in (None, *TYPES):
        raise unknown("type of a store", str(dtype), TYPES)
    if compression not in (None, *COMPRESSIONS):
        raise unknown("compression", str(compression), COMPRESSIONS)
    if dtype == BFLOAT16 and compression == NONE:
        raise InputError("bfloat16 is compressed: give --compress lz4 or zstd, or use float16")


def disk_type(dtype: str) -> np.dtype:
    """The type of a store's numbers on disk, little-endian."""
    return np.dtype("float32" if dtype == BFLOAT16 else dtype).newbyteorder("<")


def as_stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers in the type that they are kept in; those beyond its range become infinite."""
    with np.errstate(over="ignore"):
        typed = np.ascontiguousarray(values, disk_type(dtype))
    if dtype != BFLOAT16:
        return typed
    import torch  # for stores of bfloat16 numbers only, which are rounded to the nearest, ties to even

    return torch.tensor(typed).bfloat16().float().numpy()


def first_overflow(values: np.ndarray, stored: np.ndarray) -> int | None:
    if np.may_share_memory(stored, values) or not np.isinf(stored).any():
        return None
    return _first_row(np.isinf(stored) & np.isfinite(values))


def first_infinite(values: Shaped[np.ndarray, "row ..."]) -> int | None:
    """The first row with a number that is not finite (NaN, too)."""
    wide = np.promote_types(values.dtype, np.float32)  # a sum beyond it only asks for a closer look
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(values, axis=None, dtype=wide)
    if not values.size or np.isfinite(total):
        return None
    return _first_row(~np.isfinite(values))


def _first_row(bad: Shaped[np.ndarray, "row ..."]) -> int | None:
    return int(np.argwhere(bad)[0, 0]) if bad.any() else None


def compress(data: bytes | memoryview, compression: str, size: int) -> bytes:
    """The bytes of numbers of ``size`` bytes, compressed, the same in every run."""
    import zarr.codecs  # noqa: F401  Blosc on one thread, whose bytes do not depend on timing
    from numcodecs.blosc import SHUFFLE, Blosc

    return Blosc(compression, LEVELS[compression], SHUFFLE).encode(np.frombuffer(data, f"u{size}"))


def zarr_codec(compression: str, size: int) -> "BloscCodec | None":
    """What tells Zarr's readers of the compression; None for none."""
    if compression == NONE:
        return None
    from zarr.codecs import BloscCodec

    return BloscCodec(
        typesize=size,
        cname=cast("Literal['lz4', 'zstd']", compression),
        clevel=LEVELS[compression],
        shuffle="shuffle",
    )
