"""Sequences of different lengths, stored one after another and batched with others alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int64, Integer, Shaped
from torch import Tensor

POOL = 64  # batches that are sorted by length together: more pads less, and shuffles less


@runtime_checkable
class Sources(Protocol):
    """What models read of samples: sequences of ids (:class:`Ragged`), or vectors, which have no ids."""

    @property
    def values(self) -> Tensor: ...
    @property
    def offsets(self) -> Int64[Tensor, " offset"]: ...
    @property
    def ids(self) -> Integer[Tensor, " token"]: ...
    @property
    def lengths(self) -> Int64[Tensor, " sample"]: ...
    def __len__(self) -> int: ...
    def to(self, device: str | torch.device) -> "Sources": ...
    def padded(self, indices: Int64[Tensor, " batch"], pad: int) -> Shaped[Tensor, "batch seq"]: ...


@dataclass(frozen=True)
class Ragged:
    """Sequences as one flat tensor; sequence i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integer[Tensor, " token"]
    offsets: Int64[Tensor, " offset"]

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> "Ragged":
        lengths = torch.tensor([0, *map(len, lists)])
        values = torch.tensor([value for row in lists for value in row], dtype=torch.int64)
        return cls(values, lengths.cumsum(0))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def ids(self) -> Integer[Tensor, " token"]:
        return self.values

    @property
    def lengths(self) -> Int64[Tensor, " sample"]:
        return self.offsets.diff()

    def to(self, device: str | torch.device) -> "Ragged":
        return Ragged(self.values.to(device), self.offsets)

    def padded(self, indices: Int64[Tensor, " batch"], pad: int) -> Int64[Tensor, "batch seq"]:
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
    """All indices once, in batches of similar length, shuffled by seed and epoch."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    pool = np.arange(len(order)) // (POOL * batch_size)
    order = order[np.lexsort([lengths.numpy(force=True)[order], pool])]
    batches = torch.from_numpy(order).split(batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]
