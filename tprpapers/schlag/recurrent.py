"""Saxton's LSTM baselines: one layer that reads the question, thinks, and writes the answer.

Sizes as printed (18M); layer sizes are not in the papers: 2,048 units over one-hot symbols and 16
thinking steps are remembered from Saxton et al. 2019, not checked against it.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tprprobe.models.protocol import Model
from tprprobe.site.site import per_position


@dataclass(frozen=True)
class LSTMConfig:
    """Sizes; ``thinking_steps`` are zero-input steps between the question and the answer."""

    vocab_size: int = 73
    d_model: int = 2048
    thinking_steps: int = 0
    max_length: int = 200
    dropout = 0.0  # there is none
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass
class LSTMState:
    """The recurrent state after some input: h and c, each [batch, d_model]."""

    h: Tensor
    c: Tensor

    def __getitem__(self, rows: Tensor) -> "LSTMState":
        return LSTMState(self.h[rows], self.c[rows])


class Layer(nn.Module):
    """The site of an LSTM's output at every position."""

    def __init__(self, d_model: int):
        super().__init__()
        self.hidden = per_position(d_model)


class LSTM(Model[LSTMConfig, LSTMState, LSTMState]):
    """Question, thinking steps, answer: one LSTM over one-hot symbols and a linear read-out."""

    config_class = LSTMConfig

    def __init__(self, config: LSTMConfig):
        super().__init__()
        self.config = config
        self.lstm = nn.LSTM(config.vocab_size, config.d_model, batch_first=True)
        self.output = nn.Linear(config.d_model, config.vocab_size)
        self.encoder: Any = nn.ModuleList([Layer(config.d_model)])
        self.decoder: Any = nn.ModuleList([Layer(config.d_model)])

    def encode(self, source: Int[Tensor, "batch seq"]) -> LSTMState:
        """The state after the last real symbol and the thinking steps.

        Of the site's vectors only the last one goes on (as h): within the question torch's LSTM
        runs on its own.
        """
        lengths = (source != self.config.pad).sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(
            self._one_hot(source), lengths, batch_first=True, enforce_sorted=False
        )
        out, (_, c) = self.lstm(packed)
        hidden, _ = pad_packed_sequence(out, batch_first=True, total_length=source.shape[1])
        hidden = self.encoder[0].hidden(hidden)
        h = hidden[torch.arange(len(source)), lengths - 1][None]
        if self.config.thinking_steps:
            zeros = h.new_zeros(len(source), self.config.thinking_steps, self.config.vocab_size)
            _, (h, c) = self.lstm(zeros, (h, c))
        return LSTMState(h[0], c[0])

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: LSTMState, cache: LSTMState | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], LSTMState]:
        """Logits and the state after ``target``; with a cache, ``target`` continues from it."""
        rows = torch.arange(len(target), device=target.device)  # several may share a memory
        state = cache or memory[rows // (len(target) // len(memory.h))]
        out, (h, c) = self.lstm(self._one_hot(target), (state.h[None], state.c[None]))
        return self.output(self.decoder[0].hidden(out)), LSTMState(h[0], c[0])

    def _one_hot(self, ids: Tensor) -> Tensor:
        return F.one_hot(ids, self.config.vocab_size).to(self.output.weight.dtype)
