"""What every format of dumps tells: its sites, and their rows and tokens in blocks of whole samples."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Integer

from tprprobe.errors import InputError
from tprprobe.store.dtypes import disk_type
from tprprobe.store.layout import SAMPLE, SiteSpec
from tprprobe.store.reader import Store
from tprprobe.store.writer import Map, Rows

BLOCK_BYTES = 64 * 2**20  # of vectors that are held at once


class Block(NamedTuple):
    """Whole samples as a store's writer takes them: rows by site, tokens, and maps of the first samples.

    ``table`` has a row a token, with the columns side, sample, position, id, token and question (the sample's text).
    """

    rows: Mapping[str, Rows]
    table: pd.DataFrame
    maps: Mapping[str, Sequence[Map]] = MappingProxyType({})


class Dump(ABC):
    """The vectors of a file or folder, opened: nothing is read yet but what says how they lie."""

    specs: Mapping[str, SiteSpec]

    @abstractmethod
    def blocks(self, first: int) -> Iterator[Block]:
        """Rows and tokens from sample ``first`` on, in blocks of whole samples."""


def vector_spec(name: str, rows: str, shape: Sequence[int], dtype: str, source: Path) -> SiteSpec:
    axes = {1: ("d_model",), 2: ("head", "d_head")}.get(len(shape))
    if axes is None or not all(shape):
        raise InputError(
            f"{source}: {name} has shape [rows, {', '.join(map(str, shape))}]; an array of vectors is "
            "[token, d_model] or [token, head, d_head], samples one after another without padding"
        )
    if disk_type(dtype).kind != "f":
        raise InputError(f"{source}: {name} holds {dtype}; vectors are float16, float32 or float64")
    return SiteSpec((rows, *axes), tuple(map(int, shape)), dtype)


def count_rows(table: pd.DataFrame, rows: str, samples: int) -> Integer[np.ndarray, " sample"]:
    if rows == SAMPLE:
        return np.ones(samples, int)
    return np.bincount(table["sample"][(table["side"] == rows).to_numpy()], minlength=samples)


def spans(sizes: Integer[np.ndarray, " sample"], start: int = 0) -> Iterator[tuple[int, int]]:
    """Ranges of samples of these bytes, from ``start`` on: at most BLOCK_BYTES, or one sample."""
    ends = np.cumsum(sizes)
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield start, end
        start = end


Layers = Sequence[int] | None
Writer = Callable[[Store, Mapping[str, SiteSpec], Path], None]


class Format(NamedTuple):
    """A format of dumps. ``open`` gets a token table or tokenizer and numbers of layers; ``writers`` go by the ending of a file's name."""

    title: str
    reads: Callable[[Path], bool]
    open: Callable[[Path, Path | None, Layers], Dump]
    options: frozenset[str]
    writers: Mapping[str, Writer] = MappingProxyType({})
