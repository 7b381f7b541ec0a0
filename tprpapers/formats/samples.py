"""Dumps whose samples lie one after another, each a sequence of symbols with the vectors of all layers."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.store.dtypes import disk_type
from tprprobe.store.dumps import dump
from tprprobe.store.dumps.dump import Block, Dump, vector_spec
from tprprobe.store.layout import SIDES

TOKENIZER = "tokenizer.json"


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
            if pending and size + sample.bytes > dump.BLOCK_BYTES:
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


def read_pieces(tokenizer: Path | None) -> Callable[[Iterable[int]], list[str]]:
    """What turns the ids of a dump into symbols: the ``tokenizer.json`` given, else their digits."""
    if tokenizer is None:
        return lambda ids: [str(each) for each in ids]
    file = tokenizer / TOKENIZER if tokenizer.is_dir() else tokenizer
    if file.suffix != ".json" or not file.is_file():
        raise InputError(
            f"no tokenizer {tokenizer}: this dump holds ids of tokens; give the model's {TOKENIZER} as "
            "--tokens"
        )
    from tokenizers import Tokenizer

    with as_input_error(f"{file} is no tokenizer"):
        vocabulary = Tokenizer.from_file(str(file))

    def name(ids: Iterable[int]) -> list[str]:
        pieces: list[Any] = [vocabulary.id_to_token(int(each)) for each in ids]
        if None in pieces:
            raise InputError(f"{file} has no token of id {list(ids)[pieces.index(None)]}")
        return pieces

    return name
