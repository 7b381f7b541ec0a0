"""Sources that are vectors, not texts: each vector is kept once, however many samples share it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor


@dataclass(frozen=True)
class Vectors:
    """The source of sample i is `values[rows[i]]`; it has no tokens."""

    values: Float[Tensor, "vector width"]
    rows: Int64[Tensor, " sample"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Int64[Tensor, " token"]:
        """An empty tensor: vectors have no tokens."""
        return torch.empty(0, dtype=torch.int64)

    @property
    def offsets(self) -> Int64[Tensor, " offset"]:
        return torch.zeros(len(self) + 1, dtype=torch.int64)

    @property
    def lengths(self) -> Int64[Tensor, " sample"]:
        return torch.zeros_like(self.rows)

    def to(self, device: str | torch.device) -> "Vectors":
        """The vectors on another device."""
        return Vectors(self.values.to(device), self.rows)

    def padded(self, indices: Int64[Tensor, " batch"], pad: int) -> Float[Tensor, "batch width"]:
        """The vectors of the chosen samples, which need no padding."""
        return self.values[self.rows[indices.to(self.rows.device)].to(self.values.device)]
