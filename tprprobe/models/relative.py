"""T5's relative position bias: one learned number a head for each bucket of distances."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

MAX_DISTANCE = 128  # distances from here on share the last bucket


class RelativeBias(nn.Module):
    """The term added to attention scores: table[bucket(key − query), head]."""

    def __init__(self, n_buckets: int, n_heads: int, bidirectional: bool):
        super().__init__()
        self.table = nn.Embedding(n_buckets, n_heads)
        self.bidirectional = bidirectional

    def forward(self, start: int, n_query: int, n_key: int) -> Float[Tensor, "1 head query key"]:
        """The bias of ``n_query`` queries from position ``start`` on towards all keys."""
        device = self.table.weight.device
        query = torch.arange(start, start + n_query, device=device)[:, None]
        distance = torch.arange(n_key, device=device) - query
        return self.table(buckets(distance, self.table.num_embeddings, self.bidirectional)).permute(
            2, 0, 1
        )[None]


def buckets(
    distance: Int[Tensor, "query key"], n_buckets: int, bidirectional: bool
) -> Int[Tensor, "query key"]:
    """The bucket of a distance: exact for small ones, then logarithmic up to ``MAX_DISTANCE``.

    One-sided buckets see the past only: everything ahead of the query is in bucket 0.
    Source: T5 of transformers 2.9.0, which github.com/jiangycTarheel/TPT-Summ extends.
    """
    behind, offset = -distance, torch.zeros_like(distance)
    if bidirectional:
        n_buckets //= 2
        offset = (behind < 0) * n_buckets
        behind = behind.abs()
    behind = behind.clamp(min=0)
    exact = n_buckets // 2
    far = torch.log(behind.clamp(min=1).float() / exact) / math.log(MAX_DISTANCE / exact)
    coarse = exact + (far * (n_buckets - exact)).long()
    return offset + torch.where(behind < exact, behind, coarse.clamp(max=n_buckets - 1))


def additive(mask: Tensor, hidden: float, like: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """0 where the mask is True and ``hidden`` where it is not, in the precision of ``like``."""
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(~mask, hidden)
