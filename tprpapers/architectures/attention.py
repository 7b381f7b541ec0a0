"""Multi-head attention whose output v̄ can be bound to roles: TP-attention (schlag) and plain."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tprpapers.architectures.caches import KeyValues
from tprprobe.site.site import attention_map, per_head, per_position

Roles = Literal["continuous", "one", "none"]
Binding = Literal["hadamard", "outer"]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """[batch, seq, head * d_head] → [batch, seq, head, d_head], head-major."""
    return x.unflatten(-1, (n_heads, -1))


def project(x: Tensor, linears: list[nn.Linear], n_heads: int) -> tuple[Tensor, ...]:
    """Each linear map of x, divided into heads; one product computes all, which is faster for several tokens."""
    if x.shape[1] == 1:
        return tuple(split_heads(linear(x), n_heads) for linear in linears)
    weight = torch.cat([linear.weight for linear in linears])
    bias = torch.cat([linear.bias for linear in linears])
    return F.linear(x, weight, bias).unflatten(-1, (len(linears), n_heads, -1)).unbind(2)


def attend(
    query: Float[Tensor, "batch query head d_head"],
    key: Float[Tensor, "sample key head d_head"],
    value: Float[Tensor, "sample key head d_head"],
    mask: Tensor | None,
    scale: float,
    dropout: float,
    site: nn.Module,
) -> Float[Tensor, "batch query head d_head"]:
    """v̄ = softmax(scale · q kᵀ + mask) v; the map is computed only if ``site`` is read.

    A Boolean mask keeps where it is True; a float mask is added to the scores. Where one learns, torch's
    kernel would compute more than these steps. Where there are n times as many rows of queries as of
    keys (the hypotheses of a beam), n rows read one of keys.
    """
    if (rows := len(query) // len(key)) > 1:
        query = query.unflatten(0, (-1, rows)).flatten(1, 2)  # [sample, row * query, head, d_head]
        if mask is not None and mask.shape[2] > 1:  # rows of queries follow each other
            mask = mask.repeat(1, 1, rows, 1)
        v_bar = attend(query, key, value, mask, scale, dropout, site)
        return v_bar.unflatten(1, (rows, -1)).flatten(0, 1)
    q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    if not site.is_read and (mask is None or not mask.requires_grad):
        v_bar = F.scaled_dot_product_attention(q, k, v, mask, dropout, scale=scale)
        return v_bar.transpose(1, 2)
    scores = (q if scale == 1.0 else q * scale) @ k.transpose(-1, -2)  # [batch, head, query, key]
    if mask is not None and mask.dtype == torch.bool:
        scores.masked_fill_(~mask, -torch.inf)
    elif mask is not None:
        scores += mask
    weights = F.dropout(site(scores.softmax(-1)), dropout)
    return (weights @ v).transpose(1, 2)


class TPAttention(nn.Module):
    """tpr = W_o [v̄_h ⊙ r_h]_h + b with r = W_r x + b_r read on the query side; no roles: W_o v̄ + b.

    Roles ``one`` bind to a constant 1 (the plain attention with the sites of a bound one);
    binding ``outer`` is the full tensor product v̄ ⊗ r contracted by W_o ∈ R^{d_z × d_k²} a head.
    Source: schlag Sec. 2 (Eqs. 4–7) and Sec. 7, as coded in ischlag/TP-Transformer.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        roles: Roles = "none",
        binding: Binding = "hadamard",
        dropout: float = 0.0,
    ):
        super().__init__()
        d_head = d_model // n_heads
        self.n_heads, self.roles, self.dropout = n_heads, roles, dropout
        self.outer = binding == "outer"
        self.scale = d_head**-0.5
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        if roles == "continuous":
            self.to_role = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model * d_head if self.outer else d_model, d_model)
        self.input = per_position(d_model)
        self.query, self.key, self.value = per_head(d_head), per_head(d_head), per_head(d_head)
        self.attention = attention_map()
        self.filler = per_head(d_head)
        if roles != "none":
            self.role = per_head(d_head)
            self.binding = per_head(d_head**2 if self.outer else d_head)
            self.tpr = per_position(d_model)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "sample key d_model"] | None = None,
        mask: Bool[Tensor, "sample #head #query key"] | None = None,
        uniform: Bool[Tensor, "batch query"] | None = None,
        past: KeyValues | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """The sub-layer's output.

        ``memory`` is what keys and values are read from (default: x itself). ``past`` holds those
        that are known and takes the new ones: all of a memory, of x those of earlier positions.
        Queries marked ``uniform`` attend equally to all keys (the published treatment of padded
        queries).
        """
        return self._bind(*self.read(x, memory, mask, uniform, past))

    def read(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None,
        uniform: Tensor | None,
        past: KeyValues | None,
    ) -> tuple[Tensor, ...]:
        """v̄ and, if it is continuous, the role: what is read of the states, before anything is bound."""
        x, past = self.input(x), past or KeyValues()
        query_maps = [self.to_query, *([self.to_role] if self.roles == "continuous" else [])]
        memory_maps = [self.to_key, self.to_value]
        if memory is None:
            query, *role, key, value = project(x, [*query_maps, *memory_maps], self.n_heads)
            key, value = past.extend(self.key(key), self.value(value))
        else:
            query, *role = project(x, query_maps, self.n_heads)
            if not past.length:
                key, value = project(memory, memory_maps, self.n_heads)
                past.extend(self.key(key), self.value(value))
            key, value = past.pair
        query = self.query(query)
        if uniform is not None:
            query = query.masked_fill(uniform[:, :, None, None], 0.0)
            mask = None if mask is None else mask | uniform[:, None, :, None]
        dropout = self.dropout if self.training else 0.0
        v_bar = attend(query, key, value, mask, self.scale, dropout, self.attention)
        return v_bar, *role

    def _bind(self, v_bar: Tensor, role: Tensor | None = None) -> Tensor:
        filler = self.filler(v_bar)
        if self.roles == "none":
            return self.output(filler.flatten(-2))
        r: Tensor = self.role(torch.ones_like(filler) if role is None else role)
        bound = (filler[..., :, None] * r[..., None, :]).flatten(-2) if self.outer else filler * r
        bound = self.binding(bound)
        return self.tpr(self.output(bound.flatten(-2)))
