"""Sequences of different lengths: stored one after another, batched with those of like length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64, Integer
from torch import Tensor

from tprprobe.data.dataset import Dataset
from tprprobe.data.questions import check_length
from tprprobe.vocabulary import Vocabulary

POOL = 64  # batches that are sorted by length together: more pads less, and shuffles less


@dataclass(frozen=True)
class Ragged:
    """Sequences as one flat tensor; sequence i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integer[Tensor, " token"]
    offsets: Int64[Tensor, " offset"]

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> "Ragged":
        """The ragged form of a list of lists."""
        lengths = torch.tensor([0, *map(len, lists)])
        values = torch.tensor([value for row in lists for value in row], dtype=torch.int64)
        return cls(values, lengths.cumsum(0))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Int64[Tensor, " sample"]:
        return self.offsets.diff()

    def to(self, device: str | torch.device) -> "Ragged":
        """The same sequences with their values on another device; offsets stay where batches are cut."""
        return Ragged(self.values.to(device), self.offsets)

    def padded(self, indices: Int64[Tensor, " batch"], pad: int) -> Int64[Tensor, "batch seq"]:
        """The chosen sequences as rows, `pad` behind the shorter ones."""
        indices, device = indices.to(self.offsets.device), self.values.device
        starts, ends = self.offsets[indices, None], self.offsets[indices + 1, None]
        width = int((ends - starts).max())
        places = starts.to(device) + torch.arange(width, device=device)
        inside = places < ends.to(device)
        tokens = self.values[places.where(inside, 0)].long()
        return tokens.where(inside, pad)


def buckets(
    lengths: Int64[Tensor, " sample"], batch_size: int, seed: int, epoch: int
) -> list[Int64[Tensor, " batch"]]:
    """All indices once, in shuffled batches of like length; one batch may be smaller.

    Shuffled anew every epoch; the same seed and epoch give the same batches.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    pool = np.arange(len(order)) // (POOL * batch_size)
    order = order[np.lexsort([lengths.numpy(force=True)[order], pool])]
    batches = torch.from_numpy(order).split(batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]


def encode_pairs(dataset: Dataset, vocabulary: Vocabulary) -> tuple[Ragged, Ragged]:
    """The ids of all questions and of all answers, each between start and end symbol.

    Raises: InputError for a question or answer that is too long or has an unknown character.
    """
    encoded = [_encode_block(*block, vocabulary) for block in dataset.blocks()]
    return tuple(_joined(side) for side in zip(*encoded, strict=True))  # type: ignore[return-value]


Flat = tuple[Integer[np.ndarray, "_"], Int64[np.ndarray, "_"]]  # values, lengths


def _encode_block(
    questions: list[str], answers: list[str], vocabulary: Vocabulary
) -> tuple[Flat, Flat]:
    check_length("question", max(questions, key=len))
    check_length("answer", max(answers, key=len))
    return _enclosed(questions, vocabulary), _enclosed(answers, vocabulary)


def _enclosed(texts: list[str], vocabulary: Vocabulary) -> Flat:
    values, offsets = vocabulary.encode_all(texts)
    lengths = np.diff(offsets) + 2
    ends = lengths.cumsum()
    enclosed = np.full(len(values) + 2 * len(texts), vocabulary.sos, values.dtype)
    enclosed[ends - 1] = vocabulary.eos
    inside = np.ones(len(enclosed), bool)
    inside[ends - 1] = inside[ends - lengths] = False
    enclosed[inside] = values
    return enclosed, lengths


def _joined(blocks: Sequence[Flat]) -> Ragged:
    values, lengths = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    return Ragged(torch.from_numpy(values), torch.from_numpy(np.append(0, lengths.cumsum())))
