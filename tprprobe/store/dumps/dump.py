"""What every format of dumps tells: its sites, and their rows and tokens in blocks of whole samples."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def spans(sizes: Integer[np.ndarray, " sample"], start: int = 0) -> Iterator[tuple[int, int]]:
    """Ranges of samples of these bytes, from ``first`` on: at most BLOCK_BYTES, or one sample."""
    ends = np.cumsum(sizes)
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield start, end
        start = end


def sequence_table(
    sequences: Sequence[Sequence[str]], ids: Sequence[Sequence[int]], first: int, **columns: Any
) -> pd.DataFrame:
    """The token table of sequences of symbols, the samples from ``first`` on; ``columns`` have a
    value a sample.
    """
    lengths = np.array([len(sequence) for sequence in sequences], int)
    sample = np.repeat(np.arange(len(sequences)), lengths)
    texts = np.array([" ".join(sequence) for sequence in sequences], object)
    table = {
        "side": pd.Categorical([SIDES[0]] * len(sample), categories=list(SIDES)),
        "sample": first + sample,
        "position": np.arange(len(sample)) - np.repeat(np.cumsum(lengths) - lengths, lengths),
        "id": np.array([sequence for row in ids for sequence in row], np.int32),
        "token": pd.Categorical([sequence for row in sequences for sequence in row]),
        "question": pd.Categorical(texts[sample]),
    }
    return pd.DataFrame(table | {k: np.asarray(v)[sample] for k, v in columns.items()})


class Sample(NamedTuple):
    """A sample's symbols (with ids, or None), the shape [layer, token, d_model] of its vectors, and what reads these."""

    where: str
    symbols: Sequence[str]
    ids: Sequence[int] | None
    shape: tuple[int, ...]
    kind: str
    read: Callable[[], np.ndarray]
    columns: Mapping[str, Any] = {}

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=int)) * disk_type(self.kind).itemsize


class LayeredDump(Dump):
    """Samples one after another; sites are ``layers.N.hidden``.

    ``layers`` numbers the layers of a dump, which does not say which of the model they are; by
    default they count from 0.
    """

    def __init__(self, path: Path, layers: Sequence[int] | None):
        self.path = path
        head = next(self.samples(), None)
        if head is None:
            raise InputError(f"{path} holds no samples")
        _check(head, head)
        self.first = head
        numbers = list(range(head.shape[0]) if layers is None else layers)
        if len({*numbers}) != head.shape[0]:
            raise InputError(
                f"{path} has {head.shape[0]} layers, --layers {','.join(map(str, numbers))} names "
                f"{len({*numbers})}"
            )
        self.specs = {
            name: vector_spec(name, SIDES[0], head.shape[2:], head.kind, path)
            for name in (f"layers.{number}.hidden" for number in numbers)
        }

    @abstractmethod
    def samples(self) -> Iterator[Sample]:
        """All samples in order; their vectors are read when they are asked for."""

    def blocks(self, first: int) -> Iterator[Block]:
        ids: dict[str, int] = {}
        pending: list[Sample] = []
        size = 0
        for number, sample in enumerate(self.samples()):
            _check(sample, self.first)
            if sample.ids is None:
                ids_of_sample = [ids.setdefault(symbol, len(ids)) for symbol in sample.symbols]
                sample = sample._replace(ids=ids_of_sample)
            if pending and size + sample.bytes > BLOCK_BYTES:
                yield self._block(pending, first)
                first, pending, size = number, [], 0
            if number >= first:
                pending.append(sample)
                size += sample.bytes
        if pending:
            yield self._block(pending, first)

    def _block(self, samples: Sequence[Sample], first: int) -> Block:
        columns = {key: [sample.columns[key] for sample in samples] for key in samples[0].columns}
        table = sequence_table(
            [sample.symbols for sample in samples],
            [sample.ids or [] for sample in samples],
            first,
            **columns,
        )
        layers = zip(*(sample.read() for sample in samples), strict=True)
        return Block(dict(zip(self.specs, map(np.concatenate, layers), strict=True)), table)


def _check(sample: Sample, head: Sample) -> None:
    shape = sample.shape
    if len(shape) != 3 or not all(shape):
        raise InputError(
            f"{sample.where} has vectors of shape {shape}; a sample has layers × tokens × d_model, none of them 0"
        )
    if len(sample.symbols) != shape[1]:
        raise InputError(
            f"{sample.where} has {len(sample.symbols)} tokens and vectors of {shape[1]}"
        )
    if (shape[::2], sample.kind) != (head.shape[::2], head.kind):
        has, expected = (
            f"{s.shape[0]} layers of {s.shape[2]} {s.kind} numbers" for s in (sample, head)
        )
        raise InputError(f"{sample.where} has {has}, the first ({head.where}) {expected}")


def natural(path: Path) -> list[Any]:
    """The key that sorts files by the numbers in their names: 2 before 10."""
    return [
        (0, int(run), "") if run.isdigit() else (1, 0, run) for run in re.split(r"(\d+)", path.name)
    ]
