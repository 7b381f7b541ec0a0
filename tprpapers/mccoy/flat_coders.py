"""Encoders and decoders without recurrence: multilayer perceptrons, and Transformers around one vector."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from tprpapers.mccoy.gru_coders import Lengths, Logits, Vectors


class PerceptronEncoder(nn.Module):
    """One hidden layer over the embedded symbols side by side; places without a symbol are zero."""

    def __init__(self, config: Any):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.hidden = nn.Linear(config.max_length * config.d_embedding, config.d_ff)
        self.out = nn.Linear(config.d_ff, config.d_model)

    def forward(
        self, source: Int[Tensor, "batch seq"], lengths: Lengths, _joins: Tensor
    ) -> Vectors:
        real = torch.arange(source.shape[1], device=source.device) < lengths[:, None]
        embedded = (self.embedding(source) * real[..., None]).flatten(1)
        embedded = F.pad(embedded, (0, self.hidden.in_features - embedded.shape[1]))
        return self.out(self.hidden(embedded).relu())


class PerceptronDecoder(nn.Module):
    """One hidden layer that gives the symbols of all places at once."""

    def __init__(self, config: Any):
        super().__init__()
        self.hidden = nn.Linear(config.d_model, config.d_ff)
        self.out = nn.Linear(config.d_ff, config.max_length * config.vocab_size)
        self.places = config.max_length

    def forward(self, vector: Vectors, lengths: Lengths, _joins: Tensor) -> Logits:
        logits = self.out(self.hidden(vector).relu()).unflatten(1, (self.places, -1))
        return logits[:, : int(lengths.max())]


class TransformerEncoder(nn.Module):
    """The vector of a start symbol that attends, with the others, to all of the source."""

    def __init__(self, config: Any):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.position = nn.Embedding(config.max_length + 1, config.d_model)
        self.layers = stack(config)
        self.start = config.sos

    def forward(
        self, source: Int[Tensor, "batch seq"], lengths: Lengths, _joins: Tensor
    ) -> Vectors:
        ids = F.pad(source, (1, 0), value=self.start)
        places = torch.arange(ids.shape[1], device=source.device)
        states = self.embedding(ids) + self.position(places)
        return self.layers(states, src_key_padding_mask=places > lengths[:, None])[:, 0]


class TransformerDecoder(nn.Module):
    """Places that each start from the encoding and attend to each other."""

    def __init__(self, config: Any):
        super().__init__()
        self.position = nn.Embedding(config.max_length, config.d_model)
        self.layers = stack(config)
        self.out = nn.Linear(config.d_model, config.vocab_size)

    def forward(self, vector: Vectors, lengths: Lengths, _joins: Tensor) -> Logits:
        places = torch.arange(int(lengths.max()), device=vector.device)
        states = vector[:, None] + self.position(places)
        hidden = places >= lengths[:, None]
        return self.out(self.layers(states, src_key_padding_mask=hidden))


def stack(config: Any) -> nn.TransformerEncoder:
    """Layers of attention and feed-forward, normed before each, without dropout."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.n_heads, config.d_ff, dropout=0.0, batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, config.n_layers, enable_nested_tensor=False)
