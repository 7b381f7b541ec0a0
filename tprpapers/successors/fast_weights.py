"""Fast Weight Memory: an LSTM writes associations of two keys and a value into a third-order tensor, and reads them.

    h_t = LSTM(x_t, h_{t-1});   s, r, v, β = tanh(W_s h), tanh(W_r h), tanh(W_v h), σ(W_β h + 1)
    F'  = F + (s ⊗ r) ⊗ β (v − F · (s ⊗ r)) / d;   F_t = F' / max(1, ‖F'‖)
    n_0 = W_0 h,   n_i = LN(F_t · (n_{i-1} ⊗ tanh(W_i h)));   y_t = W_y (h + W_n n_N)

The role is the pair of keys (s, r), side by side; the filler is v; the unbinding are n_0 and the keys of all reads.
LN has no gain and no bias. The LSTM's forget gate starts with the bias 1.

Source: Schlag, Munkhdalai & Schmidhuber 2021 (ICLR, arXiv:2011.07831), Sec. 3, checked against the code of its authors
(ischlag/Fast-Weight-Memory-public, catbAbI), since only parts of the paper's text were at hand.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import StepModel, StepState


@dataclass(frozen=True)
class FastWeightConfig:
    """Sizes: ``d_model`` is the LSTM's width, ``d_role`` that of every key and value, ``n_reads`` the reads a step."""

    vocab_size: int = 14
    d_embedding: int = 32
    d_model: int = 64
    d_role: int = 8
    n_reads: int = 1
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass(frozen=True)
class FastWeightState(StepState):
    """The LSTM's state and the memory, whose axes (s, r, v) are flattened."""

    h: Float[Tensor, "batch *part d_model"]
    c: Float[Tensor, "batch *part d_model"]
    tpr: Float[Tensor, "batch d_tpr"]


def bind(
    memory: Float[Tensor, "batch d_tpr"],
    role: Float[Tensor, "batch two_d_role"],
    filler: Float[Tensor, "batch d_role"],
    gate: Float[Tensor, "batch 1"],
) -> Float[Tensor, "batch d_tpr"]:
    """What is added to a memory so that its keys recall the filler: the delta rule."""
    key = flat_outer(*role.chunk(2, -1))
    recalled = (key[:, None] @ memory.unflatten(1, (key.shape[1], -1)))[:, 0]
    return flat_outer(key, gate * (filler - recalled) / filler.shape[1])


def unbind(
    memory: Float[Tensor, "batch d_tpr"], unbinding: Float[Tensor, "batch d_unbinding"], d: int
) -> Float[Tensor, "batch d_role"]:
    """What is recalled by a chain of reads, each with the last result and a further key."""
    vector, *keys = unbinding.split(d, -1)
    for key in keys:
        query = flat_outer(vector, key)
        read = query[:, None] @ memory.unflatten(1, (query.shape[1], -1))
        vector = F.layer_norm(read[:, 0], (d,))
    return vector


def flat_outer(
    left: Float[Tensor, "batch left"], right: Float[Tensor, "batch right"]
) -> Float[Tensor, "batch left_right"]:
    return (left[:, :, None] * right[:, None]).flatten(1)


def limit_norm(memory: Float[Tensor, "batch d_tpr"]) -> Float[Tensor, "batch d_tpr"]:
    return memory / memory.norm(dim=-1, keepdim=True).clamp(min=1)


class FastWeightMemory(StepModel[FastWeightConfig, FastWeightState]):
    """An LSTM with a fast-weight memory. Subclasses take roles and fillers from the LSTM's state in other ways."""

    config_class: Any = FastWeightConfig

    def __init__(self, config: Any):
        super().__init__()
        self.config, d = config, config.d_role
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.build_recurrence(config)
        self.to_gate = nn.Linear(self.d_hidden, 1)
        self.from_memory = nn.Linear(d, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.build_decomposition(config)
        n_keys = 1 + config.n_reads
        self.add_sites(
            role=2 * d, filler=d, binding=d**3, unbinding=n_keys * d, tpr=d**3, hidden=self.d_hidden
        )

    @property
    def d_hidden(self) -> int:
        return self.config.d_model

    def build_recurrence(self, config: Any) -> None:
        self.lstm = nn.LSTMCell(config.d_embedding, config.d_model)
        with torch.no_grad():  # torch has two biases; the authors' cell adds 1 to the forget gate
            self.lstm.bias_ih[config.d_model : 2 * config.d_model] += 1

    def build_decomposition(self, config: Any) -> None:
        self.to_written = nn.Linear(self.d_hidden, 3 * config.d_role)
        self.to_unbinding = nn.Linear(self.d_hidden, (1 + config.n_reads) * config.d_role)
        for linear in (self.to_written, self.to_unbinding):
            bound = (6 / (self.d_hidden + config.d_role)) ** 0.5
            nn.init.uniform_(linear.weight, -bound, bound)

    def start(self, source: Int[Tensor, "batch seq"]) -> FastWeightState:
        h = self.to_gate.weight.new_zeros(len(source), *self.hidden_shape)
        return FastWeightState(h, h, h.new_zeros(len(source), self.config.d_role**3))

    @property
    def hidden_shape(self) -> tuple[int, ...]:
        return (self.config.d_model,)

    def recur(
        self, symbols: Int[Tensor, " batch"], state: FastWeightState
    ) -> tuple[Float[Tensor, "batch d_model"], Float[Tensor, "batch d_model"]]:
        return self.lstm(self.dropout(self.embedding(symbols)), (state.h, state.c))

    def decompose(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """The role and the filler that a step binds."""
        written = self.to_written(h.flatten(1)).tanh()
        return written[:, : 2 * self.config.d_role], written[:, 2 * self.config.d_role :]

    def query(self, h: Tensor) -> Float[Tensor, "batch d_unbinding"]:
        """What a step unbinds: the first vector as it is, the keys of all reads through tanh."""
        unbinding, d = self.to_unbinding(h.flatten(1)), self.config.d_role
        return torch.cat([unbinding[:, :d], unbinding[:, d:].tanh()], -1)

    def summarize(self, h: Tensor) -> Float[Tensor, "batch d_model"]:
        """What of the recurrent state goes into the answer, past the memory."""
        return h

    def read_symbol(
        self, symbols: Int[Tensor, " batch"], state: FastWeightState, sites: Any
    ) -> FastWeightState:
        h, c = self.recur(symbols, state)
        h = sites.hidden(h.flatten(1)).view_as(h)
        role, filler = self.decompose(h)
        gate = torch.sigmoid(self.to_gate(h.flatten(1)) + 1)
        binding = bind(state.tpr, sites.role(role), sites.filler(filler), gate)
        tpr = sites.tpr(limit_norm(state.tpr + sites.binding(binding)))
        return FastWeightState(h, c, tpr)

    def answer(self, state: FastWeightState, sites: Any) -> Float[Tensor, "batch vocab"]:
        unbinding = sites.unbinding(self.query(state.h))
        recalled = unbind(state.tpr, unbinding, self.config.d_role)
        return self.output(self.summarize(state.h) + self.from_memory(recalled))
