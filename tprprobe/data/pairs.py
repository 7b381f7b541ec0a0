"""Encoded examples as two ragged sequences."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from tprprobe.data.batching import Ragged


@dataclass(frozen=True)
class Pairs:
    """Encoded examples: sources and targets, each with its start and end symbol."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def batch(
        self, indices: Tensor, pad: int
    ) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch seq"]]:
        """The chosen pairs as padded ids."""
        return self.source.padded(indices, pad), self.target.padded(indices, pad)

    def to(self, device: torch.device | str) -> "Pairs":
        return Pairs(self.source.to(device), self.target.to(device))
