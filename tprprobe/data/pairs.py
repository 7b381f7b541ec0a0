"""Encoded examples: sources and targets as ids, up to an end symbol, targets from a start symbol."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64, Integer
from torch import Tensor

from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset
from tprprobe.data.questions import check_length
from tprprobe.vocabulary import Codec

Flat = tuple[Integer[np.ndarray, "_"], Int64[np.ndarray, "_"], int]  # values, lengths, texts cut


@dataclass(frozen=True)
class Pairs:
    """Encoded examples."""

    source: Ragged
    target: Ragged
    cut: tuple[int, int] = (0, 0)  # sources and targets that were too long

    def __len__(self) -> int:
        return len(self.source)

    def batch(
        self, indices: Tensor, pad: int
    ) -> tuple[Int64[Tensor, "batch seq"], Int64[Tensor, "batch target_seq"]]:
        """The chosen pairs as padded ids."""
        return self.source.padded(indices, pad), self.target.padded(indices, pad)

    def tokens(self, indices: Tensor) -> int:
        """How many ids the chosen pairs have."""
        sides = (self.source.offsets, self.target.offsets)
        return sum(int((ends[indices + 1] - ends[indices]).sum()) for ends in sides)

    def to(self, device: torch.device | str) -> "Pairs":
        return Pairs(self.source.to(device), self.target.to(device), self.cut)


def encode_pairs(data: Dataset, vocabulary: Codec) -> Pairs:
    """The ids of all sources and of all targets, with start and end symbols.

    Raises: InputError for a question or answer that is too long or has an unknown character.
    """
    return _paired([_encode_block(*block, vocabulary) for block in data.blocks()])


def encode_texts(sources: Sequence[str], targets: Sequence[str], vocabulary: Codec) -> Pairs:
    """The same of texts in memory."""
    return _paired([_encode_block(sources, targets, vocabulary)])


def _encode_block(
    sources: Sequence[str], targets: Sequence[str], vocabulary: Codec
) -> tuple[Flat, Flat]:
    if vocabulary.most is None:  # characters: nothing is cut
        check_length("question", max(sources, key=len))
        check_length("answer", max(targets, key=len))
        return _enclosed(sources, vocabulary, True), _enclosed(targets, vocabulary, True)
    max_source, max_target = vocabulary.most
    source = _cut(_enclosed(sources, vocabulary, vocabulary.source_start), max_source)
    return source, _cut(_enclosed(targets, vocabulary, True), max_target + 1)


def _enclosed(texts: Sequence[str], vocabulary: Codec, start: bool) -> Flat:
    values, offsets = vocabulary.encode_all(texts)
    lengths = np.diff(offsets) + start + 1
    ends = lengths.cumsum()
    enclosed = np.full(ends[-1], vocabulary.sos, values.dtype)
    enclosed[ends - 1] = vocabulary.eos
    inside = np.ones(len(enclosed), bool)
    inside[ends - 1] = False
    if start:
        inside[ends - lengths] = False
    enclosed[inside] = values
    return enclosed, lengths, 0


def _cut(flat: Flat, most: int) -> Flat:
    """The first so many ids of each text, and how many texts had more."""
    values, lengths, _ = flat
    places = np.arange(len(values)) - np.repeat(lengths.cumsum() - lengths, lengths)
    return values[places < most], np.minimum(lengths, most), int((lengths > most).sum())


def _paired(blocks: Sequence[tuple[Flat, Flat]]) -> Pairs:
    source, target = zip(*blocks, strict=True)
    return Pairs(
        _joined(source), _joined(target), (sum(f[2] for f in source), sum(f[2] for f in target))
    )


def _joined(blocks: Sequence[Flat]) -> Ragged:
    values, lengths, _ = zip(*blocks, strict=True)
    offsets = np.append(0, np.concatenate(lengths).cumsum())
    return Ragged(torch.from_numpy(np.concatenate(values)), torch.from_numpy(offsets))
