"""jiang's TP-Transformers and their T5 baseline: one implementation of every published setting.

Source: jiang Sec. 2 as coded by its authors on T5 (github.com/jiangycTarheel/TPT-Summ): RMS norm before each
sub-layer, no bias and no scale in the attention, one relative position bias a stack (and one for
the cross-attention), tied output.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.architectures.caches import Cache, KeyValues, Memory
from tprpapers.architectures.sublayers import SubLayer
from tprpapers.architectures.tptconfig import TPTConfig
from tprprobe.models.protocol import Model
from tprprobe.site.site import per_position

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


SELF_HIDDEN, CROSS_HIDDEN = -1e4, -1e9  # what the published masks add to a hidden key's score


class T5FeedForward(nn.Module):
    """x + W_2 relu(W_1 norm(x)), without biases."""

    def __init__(self, config: TPTConfig):
        super().__init__()
        self.norm = nn.RMSNorm(config.d_model, eps=config.norm_epsilon)
        self.expand = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.contract = nn.Linear(config.d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.expand.weight, std=config.d_model**-0.5)
        nn.init.normal_(self.contract.weight, std=config.d_ff**-0.5)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        inner = self.dropout(F.relu(self.expand(self.norm(x))))
        return x + self.dropout(self.contract(inner))


class T5Layer(nn.Module):
    """Self-attention, a decoder's cross-attention, each with its own TPR, then the feed-forward layer."""

    def __init__(self, config: TPTConfig, bound: bool, is_decoder: bool):
        super().__init__()
        self.self = SubLayer(config, bound, cross=False)
        if is_decoder:
            self.cross = SubLayer(config, bound, cross=True)
        self.feed_forward = T5FeedForward(config)
        self.hidden = per_position(config.d_model)

    def forward(
        self,
        x: Tensor,
        bias: Tensor,
        memory: Tensor | None = None,
        cross_bias: Tensor | None = None,
        decoded: KeyValues | None = None,
        memory_past: KeyValues | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        x = self.self(x, bias, past=decoded)
        if memory is not None:
            x = self.cross(x, cross_bias, memory, past=memory_past)
        return self.hidden(self.feed_forward(x))


class TPT(Model[TPTConfig, Memory, Cache]):
    """A sequence-to-sequence model on sub-word ids: TPT-d, TPT-c in T5, or T5 (``roles="none"``)."""

    config_class = TPTConfig

    def __init__(self, config: TPTConfig):
        super().__init__()
        self.config, self.n_heads = config, config.n_heads
        d, (n_encoder, n_decoder) = config.d_model, config.n_layers
        in_encoder, in_decoder = (config.roles != "none" and on for on in config.role_stacks)
        self.embedding = nn.Embedding(config.vocab_size, d)
        self.encoder = nn.ModuleList(T5Layer(config, in_encoder, False) for _ in range(n_encoder))
        self.decoder = nn.ModuleList(T5Layer(config, in_decoder, True) for _ in range(n_decoder))
        self.encoder_norm = nn.RMSNorm(d, eps=config.norm_epsilon)
        self.decoder_norm = nn.RMSNorm(d, eps=config.norm_epsilon)
        self.encoder_bias = position_bias(config, in_encoder, bidirectional=True)
        self.decoder_bias = position_bias(config, in_decoder, bidirectional=False)
        if config.cross_position_bias:
            self.cross_bias = position_bias(config, in_decoder, bidirectional=False)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, source: Int[Tensor, "batch seq"]) -> Memory:
        """The encoder's output; padded keys are masked (a source of pads only attends to them)."""
        mask = (source != self.config.pad)[:, None, None, :]
        bias = self.encoder_bias(0, source.shape[1], source.shape[1])
        bias = bias + additive(mask, SELF_HIDDEN, bias)
        x = self.dropout(self.embedding(source))
        for layer in self.encoder:
            x = layer(x, bias)
        return Memory(self.dropout(self.encoder_norm(x)), mask)

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: Memory, cache: Cache | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], Cache]:
        """Logits and the cache, extended in place; a given cache is continued by ``target``.

        Self-attention is causal and nothing else: the start symbol is the pad id.
        """
        cache = cache or Cache.empty(len(self.decoder))
        bias, cross_bias = self._biases(cache.length, target.shape[1], memory)
        y = self.dropout(self.embedding(target))
        for layer, decoded, memory_past in zip(self.decoder, cache.own, cache.memory, strict=True):
            y = layer(y, bias, memory.states, cross_bias, decoded, memory_past)
        y = self.dropout(self.decoder_norm(y)) * self.config.d_model**-0.5
        return y @ self.embedding.weight.T, cache

    def _biases(self, past: int, n: int, memory: Memory) -> tuple[Tensor, Tensor]:
        decoder_bias = self.decoder_bias(past, n, past + n)
        causal = torch.ones(n, past + n, dtype=torch.bool, device=decoder_bias.device).tril(past)
        cross = additive(memory.mask, CROSS_HIDDEN, decoder_bias)
        if self.config.cross_position_bias:
            cross = cross + self.cross_bias(past, n, memory.mask.shape[-1])
        return decoder_bias + additive(causal, SELF_HIDDEN, decoder_bias), cross


T5 = TPT, {"roles": "none"}


def position_bias(config: TPTConfig, bound: bool, bidirectional: bool) -> RelativeBias:
    """One stack's bias, initialized at T5's scale or left at torch's N(0, 1)."""
    bias = RelativeBias(config.n_buckets, config.n_heads, bidirectional)
    if config.starts_as_t5(bound):
        nn.init.normal_(bias.table.weight, std=config.d_model**-0.5)
    return bias
