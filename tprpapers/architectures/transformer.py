"""The mathematics TP-Transformer (TPT-c) and its Transformer baseline: one implementation.

Source: schlag Secs. 2–3 as coded in ischlag/TP-Transformer@5a78b20: an embedding bound to a role, pre-
and post-layer-norm, roles from the query side in self- and cross-attention, tied output.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.architectures.attention import Binding, Roles, TPAttention
from tprpapers.architectures.caches import Cache, KeyValues, Memory
from tprprobe.errors import InputError
from tprprobe.models.protocol import Model
from tprprobe.site.site import per_position

Initialization = Literal["published", "xavier", "torch"]


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and options; the ids keep their published meaning (unk 0, pad 1, sos 2, eos 3).

    ``initialization`` is that of the attentions' weights: ``published`` is ``xavier`` for the
    Transformer and ``torch`` (its default) where there are roles, as the authors' code has it.
    ``saved_positions`` keeps the position table with the weights: that of a published file is the
    one the model was trained with, and processors differ in its last digits.
    """

    vocab_size: int = 73
    d_model: int = 512
    n_heads: int = 8
    n_layers: tuple[int, int] = (6, 6)
    d_ff: int = 2048
    max_length: int = 200
    dropout: float = 0.0
    roles: Roles = "none"
    binding: Binding = "hadamard"
    embedding_binding: bool = False
    initialization: Initialization = "published"
    saved_positions: bool = False
    pad: int = 1
    sos: int = 2
    eos: int = 3

    @property
    def start(self) -> Literal["xavier", "torch"]:
        if self.initialization == "published":
            return "xavier" if self.roles == "none" else "torch"
        return self.initialization

    def __post_init__(self):
        if self.d_model % self.n_heads:
            raise InputError(f"d_model {self.d_model} cannot be divided among {self.n_heads} heads")


class BoundSites(nn.Module):
    """The three sites of an embedding bound to its role."""

    def __init__(self, d_model: int):
        super().__init__()
        self.filler, self.role, self.binding = (per_position(d_model) for _ in range(3))


class Embedding(nn.Module):
    """z = e ⊙ (W e + b + 1) with e = √d · E[token] + PE; without the binding z = e.

    Its sites are of the source; the same under ``embedding.target`` of the decoder's input.
    Source: schlag2019-workshop Eq. 2 with the +1 of the authors' code.
    """

    positions: Tensor

    def __init__(self, config: TransformerConfig):
        super().__init__()
        d = config.d_model
        self.scale = math.sqrt(d)
        self.token = nn.Embedding(config.vocab_size, d)
        nn.init.normal_(self.token.weight, std=d**-0.5)
        table = sinusoids(config.max_length, d)
        self.register_buffer("positions", table, persistent=config.saved_positions)
        self.dropout = nn.Dropout(config.dropout)
        self.to_role = nn.Linear(d, d) if config.embedding_binding else None
        if self.to_role is not None:
            nn.init.normal_(self.to_role.weight, std=d**-0.5)
            self.filler, self.role, self.binding = (per_position(d) for _ in range(3))
            self.target = BoundSites(d)

    def forward(self, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        """The embedding of a source."""
        return self._embed(ids, 0, self)

    def read(self, ids: Int[Tensor, "batch seq"], start: int) -> Float[Tensor, "batch seq d_model"]:
        """The embedding of what a decoder reads, from that position on."""
        return self._embed(ids, start, self.target if self.to_role is not None else self)

    def _embed(self, ids: Tensor, start: int, sites: Any) -> Tensor:
        end = start + ids.shape[1]
        if end > len(self.positions):
            raise InputError(f"{end} symbols: this model has max_length {len(self.positions)}")
        e = self.token(ids) * self.scale + self.positions[start:end]
        if self.to_role is None:
            return self.dropout(e)
        e = sites.filler(e)
        return self.dropout(sites.binding(e * sites.role(self.to_role(e) + 1)))


def sinusoids(length: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    """PE[t, 2i] = sin(t / 10000^(2i/d)), PE[t, 2i+1] = the cosine of the same."""
    if torch.get_default_device().type == "meta":
        return torch.empty(length, d_model)
    rates = torch.exp(torch.arange(0.0, d_model, 2) * -(math.log(10000.0) / d_model))
    angles = torch.arange(0.0, length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model]


class FeedForward(nn.Module):
    """W_2 relu(W_1 x + b_1) + b_2."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        return self.contract(self.dropout(F.relu(self.expand(x))))


class Layer(nn.Module):
    """x ← x + A(LN₁ x); in a decoder x ← x + C(LN₂ x), the role from the decoder's side; x ← x + FF(LN x);
    hidden = LN x (schlag2019-workshop Eq. 1).
    """

    def __init__(self, config: TransformerConfig, is_decoder: bool):
        super().__init__()
        d = config.d_model
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d) for _ in range(3))
        if is_decoder:
            self.norm4 = nn.LayerNorm(d)
        self.self = attention(config)
        if is_decoder:
            self.cross = attention(config)
        self.feed_forward = FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = per_position(d)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: Memory | None = None,
        uniform: Tensor | None = None,
        decoded: KeyValues | None = None,
        memory_past: KeyValues | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.dropout(self.self(self.norm1(x), mask=mask, uniform=uniform, past=decoded))
        before, final_norm = self.norm2, self.norm3
        if memory is not None:
            out = self.cross(self.norm2(x), memory.states, mask=memory.mask, past=memory_past)
            x, before, final_norm = x + self.dropout(out), self.norm3, self.norm4
        x = x + self.dropout(self.feed_forward(before(x)))
        return self.hidden(final_norm(x))


def attention(config: TransformerConfig) -> TPAttention:
    """One attention; ``xavier`` is the authors' reset, W_r ~ N(0, 1/√d_r), which they call for the baseline alone."""
    module = TPAttention(
        config.d_model, config.n_heads, config.roles, config.binding, config.dropout
    )
    if config.start == "xavier":
        for linear in (module.to_query, module.to_key, module.to_value, module.output):
            nn.init.xavier_uniform_(linear.weight)
        if config.roles == "continuous":
            nn.init.normal_(module.to_role.weight, std=(config.d_model // config.n_heads) ** -0.5)
    return module


class Transformer(Model[TransformerConfig, Memory, Cache]):
    """A sequence-to-sequence model on character ids: with roles the TP-Transformer, with
    ``roles="none"`` the Transformer.
    """

    config_class = TransformerConfig

    pads_look_ahead = True  # a written pad reads later positions, which no cache can hold

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config, self.n_heads = config, config.n_heads
        self.embedding = Embedding(config)
        self.encoder = nn.ModuleList(Layer(config, False) for _ in range(config.n_layers[0]))
        self.decoder = nn.ModuleList(Layer(config, True) for _ in range(config.n_layers[1]))

    def encode(self, source: Int[Tensor, "batch seq"]) -> Memory:
        """The encoder's output; padded keys are masked (a source of pads only attends to them)."""
        real = source != self.config.pad
        mask = (real | ~real.any(1, keepdim=True))[:, None, None, :]
        x = self.embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(x, mask)

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: Memory, cache: Cache | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], Cache]:
        """Logits and the cache, extended in place; a given cache is continued by ``target``.

        Self-attention is causal; a padded query attends to all positions equally, as published.
        """
        cache = cache or Cache.empty(len(self.decoder))
        mask, uniform = self._target_mask(target, cache.length)
        y = self.embedding.read(target, cache.length)
        for layer, decoded, memory_past in zip(self.decoder, cache.own, cache.memory, strict=True):
            y = layer(y, mask, memory, uniform, decoded, memory_past)
        return y @ self.embedding.token.weight.T, cache

    def _target_mask(self, target: Tensor, past: int) -> tuple[Tensor | None, Tensor | None]:
        n = target.shape[1]
        if n == 1:
            return None, target == self.config.pad
        causal = torch.ones(n, past + n, dtype=torch.bool, device=target.device).tril(past)
        return causal[None, None].expand(len(target), 1, -1, -1), target == self.config.pad


TP_TRANSFORMER = Transformer, {"roles": "continuous", "embedding_binding": True}
