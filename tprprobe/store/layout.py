"""The files of a store, and the layout of its arrays.

STORE/manifest.json       written last: its presence means complete
STORE/arrays.zarr/SITE/   one Zarr v3 array a site, chunks of whole rows, compressed if wanted
STORE/tokens.parquet      one row per token
STORE/own_labels.parquet  the labels that were added afterwards, a column a task
STORE/permuted/ …         the controls, the stores of the model's twins (TWINS)
STORE/journal.json, tokens.arrow   only while the store is written; so is SITE/c.N….begun, the rows of
                          a chunk that will be compressed when it is full
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from tprprobe.site.patterns import head_axis
from tprprobe.store.dtypes import BFLOAT16, NONE, disk_type
from tprprobe.store.kinds import JOURNAL as JOURNAL
from tprprobe.store.kinds import MANIFEST as MANIFEST

ARRAYS, METADATA = "arrays.zarr", "zarr.json"
TOKENS, TOKENS_BEGUN = "tokens.parquet", "tokens.arrow"
OWN_LABELS = "own_labels.parquet"
WORDS = ("word", "last_word")  # the columns that say to which words labels belong
TWINS = ("permuted", "untrained", "rescaled")  # the best control first
SIDES = ("source", "target")
SAMPLE = "sample"  # the rows of a site with one vector a sample
CHUNK_BYTES = 2 * 2**20
DESCRIBED = ("site", "axes", "shape", "dtype", "compression", "bytes")
BEGUN = ".begun"  # behind the name of a chunk whose rows are not yet all there


@dataclass(frozen=True)
class SiteSpec:
    """The layout of an array; its first axis counts tokens of a side, samples, or pairs of a query and a key (``target_source``)."""

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"
    compression: str = NONE

    @property
    def rows(self) -> str:
        return self.axes[0]

    @property
    def is_attention(self) -> bool:
        return self.rows not in (*SIDES, SAMPLE)

    @property
    def heads(self) -> int | None:
        """The number of heads (or of key heads); None for rows without heads."""
        axis = head_axis(self.axes)
        return None if axis is None else self.shape[axis - 1]

    @property
    def is_compressed(self) -> bool:
        return self.compression != NONE

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=int)) * disk_type(self.dtype).itemsize

    def kept_as(self, dtype: str | None, compression: str | None) -> "SiteSpec":
        """The layout with another type and compression; None keeps the type, and compresses bfloat16 by LZ4."""
        dtype = dtype or self.dtype
        if compression == NONE and dtype == BFLOAT16:
            dtype = "float32"
        default = "lz4" if dtype == BFLOAT16 else NONE
        return replace(self, dtype=dtype, compression=compression or default)

    def as_dict(self) -> dict[str, object]:
        """The layout as a manifest tells it, which says nothing of no compression."""
        hidden = () if self.is_compressed else ("compression",)
        return {key: value for key, value in asdict(self).items() if key not in hidden}

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk: the power of two whose bytes are at most CHUNK_BYTES."""
        return 1 << max(0, (CHUNK_BYTES // self.row_bytes).bit_length() - 1)

    def chunk_file(self, index: int) -> str:
        return ".".join(["c", str(index), *("0" for _ in self.shape)])

    def chunk_sizes(self, rows: int, padded: bool) -> list[int]:
        """Bytes of each chunk, uncompressed; padded, the last of several is as long as the others."""
        full, remainder = divmod(rows, self.chunk_rows)
        sizes = [self.chunk_rows * self.row_bytes] * full
        if remainder:
            sizes.append(sizes[0] if padded and full else remainder * self.row_bytes)
        return sizes


def list_own_labels(path: Path) -> tuple[str, ...]:
    """The tasks whose labels were added to the store at a path and saved in it."""
    if not (path / OWN_LABELS).is_file():
        return ()
    import pyarrow.parquet  # slow

    names = pyarrow.parquet.read_schema(path / OWN_LABELS).names
    return tuple(name for name in names if name not in WORDS)


def twins_in(path: Path) -> dict[str, Path]:
    return {kind: path / kind for kind in TWINS if (path / kind).exists()}


@dataclass(frozen=True)
class Part:
    """A file of a store, the bytes that it needs, and the site and the rows that it holds, if any."""

    file: str
    size: int
    site: str | None = None
    rows: tuple[int, int] | None = None


def all_arrays(sites: Mapping[str, SiteSpec]) -> dict[str, SiteSpec]:
    """The sites, and per kind of attention each sample's place and shape: its pairs are rows from ``offset`` on, query by query."""
    arrays = dict(sites)
    for pairs in {spec.rows: None for spec in sites.values() if spec.is_attention}:
        arrays[f"{pairs}.offset"] = SiteSpec((f"{pairs}_sample",), (), "int64")
        arrays[f"{pairs}.shape"] = SiteSpec((f"{pairs}_sample", "query_key"), (2,), "int64")
    return arrays


def dimension_names(arrays: Mapping[str, SiteSpec]) -> dict[str, tuple[str, ...]]:
    """Axis names that each have one size in the store, as xarray demands; other sizes get names of their own."""
    sizes: dict[str, int] = {}

    def named(axis: str, size: int) -> str:
        return axis if sizes.setdefault(axis, size) == size else f"{axis}_{size}"

    return {k: (s.rows, *map(named, s.axes[1:], s.shape)) for k, s in arrays.items()}
