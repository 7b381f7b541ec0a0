"""Dumps that go sample by sample, each with the vectors of some layers: one site a layer."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tprprobe.errors import InputError
from tprprobe.store.dtypes import disk_type
from tprprobe.store.dumps import dump
from tprprobe.store.dumps.dump import Block, Dump, sequence_table, vector_spec
from tprprobe.store.layout import SIDES


class Sample(NamedTuple):
    """A sample's symbols (with ids, or None), the shape [layer, token, d_model] of its vectors, and what
    reads them into an array a layer.
    """

    where: str
    symbols: Sequence[str]
    ids: Sequence[int] | None
    shape: tuple[int, ...]
    kind: str
    read_into: Callable[[Sequence[np.ndarray]], None]
    columns: Mapping[str, Any] = {}

    @property
    def bytes(self) -> int:
        """The bytes of its vectors in memory."""
        return int(np.prod(self.shape, dtype=int)) * disk_type(self.kind).itemsize


class LayeredDump(Dump):
    """Samples one after another; sites are ``layers.N.hidden``.

    ``layers`` numbers the layers of a dump, which does not say which of the model they are; by
    default they count from 0.
    """

    def __init__(self, path: Path, layers: Sequence[int] | None):
        self.path = path
        first = next(self.samples(), None)
        if first is None:
            raise InputError(f"{path} holds no samples")
        self.first = _checked(first, None)
        numbers = list(range(first.shape[0]) if layers is None else layers)
        if len({*numbers}) != first.shape[0]:
            raise InputError(
                f"{path} has {first.shape[0]} layers, --layers {','.join(map(str, numbers))} names "
                f"{len({*numbers})}"
            )
        names = [f"layers.{number}.hidden" for number in numbers]
        self.specs = {
            name: vector_spec(name, SIDES[0], first.shape[2:], first.kind, path) for name in names
        }

    @abstractmethod
    def samples(self) -> Iterator[Sample]:
        """All samples in order; their vectors are read when they are asked for."""

    def blocks(self, first: int) -> Iterator[Block]:
        ids: dict[str, int] = {}
        held: list[Sample] = []
        size = 0
        for number, sample in enumerate(self.samples()):
            _checked(sample, self.first)
            if sample.ids is None:
                known = [ids.setdefault(symbol, len(ids)) for symbol in sample.symbols]
                sample = sample._replace(ids=known)
            if number < first:
                continue
            if held and size + sample.bytes > dump.BLOCK_BYTES:
                yield self._block(held, first)
                first, held, size = number, [], 0
            held.append(sample)
            size += sample.bytes
        if held:
            yield self._block(held, first)

    def _block(self, held: Sequence[Sample], first: int) -> Block:
        columns = {key: [each.columns[key] for each in held] for key in held[0].columns}
        table = sequence_table(
            [each.symbols for each in held], [each.ids or [] for each in held], first, **columns
        )
        rows = {
            name: np.empty((len(table), *spec.shape), disk_type(spec.dtype))
            for name, spec in self.specs.items()
        }
        start = 0
        for each in held:
            end = start + each.shape[1]
            each.read_into([of_layer[start:end] for of_layer in rows.values()])
            start = end
        return Block(rows, table)


def _checked(sample: Sample, first: Sample | None) -> Sample:
    """The sample, if its shapes fit together and those of the first."""
    if len(sample.shape) != 3 or not all(sample.shape):
        raise InputError(
            f"{sample.where} has vectors of shape {sample.shape}; a sample has layers × tokens × d_model, none of them 0"
        )
    if len(sample.symbols) != sample.shape[1]:
        raise InputError(
            f"{sample.where} has {len(sample.symbols)} tokens and vectors of {sample.shape[1]}"
        )
    if first and (sample.shape[::2], sample.kind) != (first.shape[::2], first.kind):
        raise InputError(
            f"{sample.where} has {_sizes(sample)}, the first ({first.where}) {_sizes(first)}"
        )
    return sample


def _sizes(sample: Sample) -> str:
    return f"{sample.shape[0]} layers of {sample.shape[2]} {sample.kind} numbers"


def natural(path: Path) -> list[Any]:
    """The key that sorts files by the numbers in their names: 2 before 10."""
    return [
        (0, int(each), "") if each.isdigit() else (1, 0, each)
        for each in re.split(r"(\d+)", path.name)
    ]
