"""Encoders and decoders that are GRUs over a tree of the source's symbols.

The tree joins the node of the smallest symbol (the leftmost of equals, never the last) with the one after it,
again and again; the pair bears the second's symbol.
Source: McCoy et al. 2019, code tommccoy1/tpdn; after Chen et al. 2017 (encoder) and 2018 (decoder).
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.mccoy.gru_coders import Lengths, Logits, Vectors

Joins = Int[Tensor, "batch join"]


@torch.no_grad()
def join_order(source: Int[Tensor, "batch seq"], lengths: Lengths) -> Joins:
    """The place of the node that is joined with the next one, join by join; symbols are ordered by their ids.

    A row has one join less than symbols; what stands behind them means nothing.
    """
    nodes, order = source, [source[:, :0]]
    places = torch.arange(source.shape[1], device=source.device)
    for step in range(source.shape[1] - 1):
        is_outside = places >= lengths[:, None] - step - 1
        joins = nodes.masked_fill(is_outside, torch.iinfo(source.dtype).max).argmin(1, keepdim=True)
        sources = (places + (places >= joins)).clamp(max=len(places) - 1)
        nodes = nodes.gather(1, sources)
        order.append(joins)
    return torch.cat(order, 1)


class TreeCell(nn.Module):
    """A GRU's step with a symbol and two states: h = z l + z r + (1 − z) h̃."""

    def __init__(self, d_embedding: int, d_model: int):
        super().__init__()
        self.word = nn.Linear(d_embedding, 3 * d_model)
        self.left = nn.Linear(d_model, 2 * d_model)
        self.right = nn.Linear(d_model, 2 * d_model)
        self.new_left = nn.Linear(d_model, d_model)
        self.new_right = nn.Linear(d_model, d_model)

    def forward(
        self,
        word: Float[Tensor, "*b d_word"],
        left_state: Float[Tensor, "*b d"],
        right_state: Float[Tensor, "*b d"],
    ) -> Float[Tensor, "*b d"]:
        *gates, candidate = self.word(word).chunk(3, -1)
        z, r = (
            (torch.cat(gates, -1) + self.left(left_state) + self.right(right_state))
            .sigmoid()
            .chunk(2, -1)
        )
        candidate = (
            candidate + self.new_left(r * left_state) + self.new_right(r * right_state)
        ).tanh()
        return z * left_state + z * right_state + (1 - z) * candidate


class TreeEncoder(nn.Module):
    """The state of the root: leaves read symbols, nodes join the states of two nodes."""

    def __init__(self, config: Any):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.cell = TreeCell(config.d_embedding, config.d_model)
        self.width = config.d_model

    def forward(self, source: Int[Tensor, "batch seq"], lengths: Lengths, joins: Joins) -> Vectors:
        words = self.embedding.weight
        nothing = words.new_zeros(len(words), self.width)
        nodes = self.cell(words, nothing, nothing)[source]  # [batch, seq, d_model]
        word = words.new_zeros(len(source), words.shape[1])
        rows = torch.arange(len(source), device=source.device)
        for step, joins_of_step in enumerate(joins.unbind(1)):
            joined = self.cell(word, nodes[rows, joins_of_step], nodes[rows, joins_of_step + 1])
            places = torch.arange(nodes.shape[1] - 1, device=source.device)
            moved = nodes[rows[:, None], places + (places > joins_of_step[:, None])]
            after = torch.where(
                (places == joins_of_step[:, None])[..., None], joined[:, None], moved
            )
            active = step < lengths - 1
            nodes = torch.where(active[:, None, None], after, nodes[:, :-1])
        return nodes[:, 0]


class TreeDecoder(nn.Module):
    """States of leaves, from that of the root on: a left and a right child are each a GRU's step away."""

    def __init__(self, config: Any):
        super().__init__()
        self.left_child = nn.GRUCell(config.d_embedding, config.d_model)
        self.right_child = nn.GRUCell(config.d_embedding, config.d_model)
        self.out = nn.Linear(config.d_model, config.vocab_size)
        self.d_word = config.d_embedding

    def forward(self, vector: Vectors, lengths: Lengths, joins: Joins) -> Logits:
        """The logits of leaves: from the last join to the first, the node at its position becomes two."""
        joins = joins[:, : int(lengths.max()) - 1]
        nodes, rows = vector[:, None], torch.arange(len(vector), device=vector.device)
        no_word = vector.new_zeros(len(vector), self.d_word)
        for step in reversed(range(joins.shape[1])):
            active = step < lengths - 1
            position = joins[:, step].where(active, 0)
            left_nodes, right_nodes = (
                cell(no_word, nodes[rows, position]) for cell in (self.left_child, self.right_child)
            )
            places, position = (
                torch.arange(nodes.shape[1] + 1, device=vector.device),
                position[:, None],
            )
            expanded = nodes[rows[:, None], places - (places > position).int()]
            expanded = torch.where((places == position)[..., None], left_nodes[:, None], expanded)
            expanded = torch.where(
                (places == position + 1)[..., None], right_nodes[:, None], expanded
            )
            nodes = torch.where(active[:, None, None], expanded, F.pad(nodes, (0, 0, 0, 1)))
        return self.out(nodes)
