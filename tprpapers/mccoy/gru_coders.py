"""Encoders and decoders that are GRUs in one direction or in both.

Source: McCoy et al. 2019, code tommccoy1/tpdn: a decoder starts from the rectified encoding, reads zeros,
and is told how many symbols to write.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Lengths = Int[Tensor, " batch"]
Vectors = Float[Tensor, "batch d_model"]
Logits = Float[Tensor, "batch seq vocab"]


def last_of(states: Float[Tensor, "batch seq d"], lengths: Lengths) -> Float[Tensor, "batch d"]:
    """The state after every sequence's last symbol."""
    return states[torch.arange(len(states), device=states.device), lengths - 1]


def mirror(values: Tensor, lengths: Lengths) -> Tensor:
    """The first ``lengths`` of every row, [batch, seq, …], in reverse."""
    places = torch.arange(values.shape[1], device=values.device)
    turned = (lengths[:, None] - 1 - places).clamp(min=0)
    return values[torch.arange(len(values), device=values.device)[:, None], turned]


class ForwardEncoder(nn.Module):
    """The last state of a GRU that reads from left to right."""

    def __init__(self, config: Any):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.rnn = nn.GRU(config.d_embedding, config.d_model, batch_first=True)

    def forward(
        self, source: Int[Tensor, "batch seq"], lengths: Lengths, _joins: Tensor
    ) -> Vectors:
        return last_of(self.rnn(self.embedding(source))[0], lengths)


class BidirectionalEncoder(nn.Module):
    """The last states of two GRUs of half the width, one of which reads from right to left."""

    def __init__(self, config: Any):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.rnn_fwd = nn.GRU(config.d_embedding, config.d_model // 2, batch_first=True)
        self.rnn_rev = nn.GRU(config.d_embedding, config.d_model // 2, batch_first=True)

    def forward(
        self, source: Int[Tensor, "batch seq"], lengths: Lengths, _joins: Tensor
    ) -> Vectors:
        embedded = self.embedding(source)
        forward_states = last_of(self.rnn_fwd(embedded)[0], lengths)
        backward_states = last_of(self.rnn_rev(mirror(embedded, lengths))[0], lengths)
        return torch.cat([forward_states, backward_states], -1)


class ForwardDecoder(nn.Module):
    """A GRU that runs from the encoding on, a symbol a step."""

    def __init__(self, config: Any):
        super().__init__()
        self.rnn = nn.GRU(config.d_embedding, config.d_model, batch_first=True)
        self.out = nn.Linear(config.d_model, config.vocab_size)

    def forward(self, vector: Vectors, lengths: Lengths, _joins: Tensor) -> Logits:
        return self.out(run(self.rnn, vector.relu(), int(lengths.max())))


class BidirectionalDecoder(nn.Module):
    """Two GRUs of half the width that run from the same start: one writes from left to right, one from right
    to left; a symbol is read out of both.
    """

    def __init__(self, config: Any):
        super().__init__()
        half = config.d_model // 2
        self.squeeze = nn.Linear(config.d_model, half)
        self.rnn_fwd = nn.GRU(config.d_embedding, half, batch_first=True)
        self.rnn_rev = nn.GRU(config.d_embedding, half, batch_first=True)
        self.out = nn.Linear(config.d_model, config.vocab_size)

    def forward(self, vector: Vectors, lengths: Lengths, _joins: Tensor) -> Logits:
        start, longest = self.squeeze(vector.relu()), int(lengths.max())
        forward_states, backward_states = (
            run(self.rnn_fwd, start, longest),
            run(self.rnn_rev, start, longest),
        )
        return self.out(torch.cat([forward_states, mirror(backward_states, lengths)], -1))


def run(rnn: nn.GRU, start: Float[Tensor, "batch d"], steps: int) -> Float[Tensor, "batch seq d"]:
    """The states of a GRU that reads zeros, after each of so many steps."""
    return rnn(start.new_zeros(len(start), steps, rnn.input_size), start[None])[0]
