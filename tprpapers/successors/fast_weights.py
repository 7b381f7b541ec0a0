"""Fast Weight Memory: an LSTM writes associations of two keys and a value into a third-order tensor, and reads them.

    h_t = LSTM(x_t, h_{t-1});   s, r, v, β = tanh(W_s h), tanh(W_r h), tanh(W_v h), σ(W_β h + 1)
    F'  = F + (s ⊗ r) ⊗ β (v − F · (s ⊗ r)) / d;   F_t = F' / max(1, ‖F'‖)
    n_0 = W_0 h,   n_i = LN(F_t · (n_{i-1} ⊗ tanh(W_i h)));   y_t = W_y (h + W_n n_N)

The role is the pair of keys (s, r), side by side; the filler is v; the unbinding are n_0 and the keys of all reads.
LN has no gain and no bias. The LSTM's forget gate starts with the bias 1.

Source: Schlag, Munkhdalai & Schmidhuber 2021 (ICLR, arXiv:2011.07831), Sec. 3, as in the code of its authors
(ischlag/Fast-Weight-Memory-public, catbAbI, MIT license), since only parts of the paper's text were at hand: with the same random
weights, memory and logits after seven symbols differ from those of that code by less than 1e-14 in float64.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import (
    StepModel,
    StepState,
    accumulate,
    flat_outer,
    recall,
)


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
    """The memory, whose axes (s, r, v) are flattened, and the LSTM's state."""

    h: Float[Tensor, "batch *part d_model"]
    c: Float[Tensor, "batch *part d_model"]


def unbind(
    memories: Float[Tensor, "*batch d_tpr"], unbinding: Float[Tensor, "*batch d_unbinding"], d: int
) -> Float[Tensor, "*batch d_role"]:
    """What is recalled by a chain of reads, each with the last result and a further key."""
    vector, *keys = unbinding.split(d, -1)
    for key in keys:
        vector = F.layer_norm(recall(memories, flat_outer(vector, key)), (d,))
    return vector


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
    def part_shape(self) -> tuple[int, ...]:
        """The shape of the LSTM's state."""
        return (self.config.d_model,)

    @property
    def d_hidden(self) -> int:
        return math.prod(self.part_shape)

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
        h = self.to_gate.weight.new_zeros(len(source), *self.part_shape)
        return FastWeightState(h.new_zeros(len(source), self.config.d_role**3), h, h)

    def split_input(self, vectors: Tensor) -> Float[Tensor, "batch seq *part d_part"]:
        """What the LSTM reads of the embeddings."""
        return vectors

    def decompose(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The role and the filler that every step binds."""
        return split_role(self.to_written(hidden).tanh(), self.config.d_role)

    def query(self, hidden: Tensor) -> Float[Tensor, "batch seq d_unbinding"]:
        """What every step unbinds: the first vector as it is, the keys of all reads through tanh."""
        unbinding, d = self.to_unbinding(hidden), self.config.d_role
        return torch.cat([unbinding[..., :d], unbinding[..., d:].tanh()], -1)

    def summarize(self, hidden: Tensor) -> Float[Tensor, "batch seq d_model"]:
        """What of the recurrent state goes into the answer, past the memory."""
        return hidden

    def read_symbols(
        self, ids: Int[Tensor, "batch seq"], state: FastWeightState, sites: Any
    ) -> tuple[Float[Tensor, "batch seq d_hidden"], Float[Tensor, "batch seq d_tpr"], Any]:
        is_symbol = (ids != self.config.pad)[..., None]
        hidden, h, c = self._recur(ids, is_symbol, state, sites)
        role, filler = self.decompose(hidden)
        gate = torch.sigmoid(self.to_gate(hidden) + 1) * is_symbol
        key, filler = flat_outer(*sites.role(role).chunk(2, -1)), sites.filler(filler)

        def change(step: int, memory: Tensor) -> Tensor:
            missing = filler[:, step] - recall(memory, key[:, step])
            return flat_outer(key[:, step], gate[:, step] * missing / self.config.d_role)

        memories = accumulate(state.tpr, ids.shape[1], change, limit_norm, sites)
        return hidden, memories, FastWeightState(memories[:, -1], h, c)

    def _recur(
        self, ids: Tensor, is_symbol: Tensor, state: FastWeightState, sites: Any
    ) -> tuple[Float[Tensor, "batch seq d_hidden"], Tensor, Tensor]:
        inputs, (h, c), hidden = (
            self.split_input(self.dropout(self.embedding(ids))),
            (state.h, state.c),
            [],
        )
        for step in range(ids.shape[1]):
            after = self.lstm(inputs[:, step].flatten(0, -2), (h.flatten(0, -2), c.flatten(0, -2)))
            output = sites.hidden(after[0].view_as(h).flatten(1))
            hidden.append(output)
            is_new = is_symbol[:, step].view(-1, *[1] * (h.ndim - 1))
            h = torch.where(is_new, output.view_as(h), h)
            c = torch.where(is_new, after[1].view_as(c), c)
        return torch.stack(hidden, 1), h, c

    def answer(
        self, hidden: Tensor, memories: Tensor, state: FastWeightState, sites: Any
    ) -> Float[Tensor, "batch seq vocab"]:
        recalled = unbind(memories, sites.unbinding(self.query(hidden)), self.config.d_role)
        return self.output(self.summarize(hidden) + self.from_memory(recalled))


def split_role(components: Float[Tensor, "*batch d_components"], d: int) -> tuple[Tensor, Tensor]:
    """The role, which is two keys, and the filler behind it."""
    return components[..., : 2 * d], components[..., 2 * d :]
