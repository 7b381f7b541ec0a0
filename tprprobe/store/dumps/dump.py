"""What every format of dumps tells: its sites, and their rows and tokens in blocks of whole samples."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Integer

from tprprobe.errors import InputError
from tprprobe.store.dtypes import disk_type
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.writer import Map, Rows

BLOCK_BYTES = 64 * 2**20  # of vectors that are held at once


class Block(NamedTuple):
    """Whole samples as a store's writer takes them: rows by site, tokens, and maps of the first samples."""

    rows: Mapping[str, Rows]
    table: pd.DataFrame
    maps: Mapping[str, Sequence[Map]] = MappingProxyType({})


class Dump(ABC):
    """The vectors of a file or folder, opened: nothing is read yet but what says how they lie."""

    specs: Mapping[str, SiteSpec]

    @abstractmethod
    def blocks(self, first: int) -> Iterator[Block]:
        """Rows and tokens from sample ``first`` on, in blocks of whole samples.

        Raises:
            InputError: a file is damaged, or its parts do not fit together.
        """


def vector_spec(name: str, rows: str, shape: Sequence[int], dtype: str, source: Path) -> SiteSpec:
    """The layout of a site whose rows are vectors, or one vector a head."""
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
    """The rows of every sample, which are the tokens of a side, or samples."""
    if rows == SAMPLE:
        return np.ones(samples, int)
    return np.bincount(table["sample"][(table["side"] == rows).to_numpy()], minlength=samples)


def spans(sizes: Integer[np.ndarray, " sample"], first: int = 0) -> Iterator[tuple[int, int]]:
    """Ranges of samples of these bytes, from ``first`` on: at most BLOCK_BYTES, or one sample."""
    ends = np.cumsum(sizes)
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield first, last
        first = last


def sequence_table(
    sequences: Sequence[Sequence[str]], ids: Sequence[Sequence[int]], first: int, **columns: Any
) -> pd.DataFrame:
    """The token table of sequences of symbols, the samples from ``first`` on; ``columns`` have a
    value a sample.
    """
    lengths = np.array([len(each) for each in sequences], int)
    sample = np.repeat(np.arange(len(sequences)), lengths)
    texts = np.array([" ".join(each) for each in sequences], object)
    table = {
        "side": pd.Categorical([SIDES[0]] * len(sample), categories=list(SIDES)),
        "sample": first + sample,
        "position": np.arange(len(sample)) - np.repeat(np.cumsum(lengths) - lengths, lengths),
        "id": np.array([each for row in ids for each in row], np.int32),
        "token": pd.Categorical([each for row in sequences for each in row]),
        "question": pd.Categorical(texts[sample]),
    }
    return pd.DataFrame(table | {k: np.asarray(v)[sample] for k, v in columns.items()})
