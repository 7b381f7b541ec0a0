"""AID: roles, fillers and unbinding vectors are slots that compete for parts of the input, before a fast-weight memory.

    x_1 … x_N = parts of W_x x_t;   h_n = LSTM(x_n), one LSTM for all parts
    S_0 = W_S [h_1; …; h_N],   k_n = elu(W_k h_n) + 1,   v_n = W_v h_n
    i times:   q_j = elu((W_q s_j + s_j⁰) / √d) + 1;   a_nj = softmax over slots j of k_n · q_j, then divided by its sum over n
               s_j ← s_j + MLP(LN(Σ_n a_nj v_n)) / d
    component j = tanh(W_p [s_j⁰; s_j])

Slots of binding are s, r and v of the fast-weight memory, those of reasoning its unbinding vectors; both kinds share
W_q, W_k, W_v, MLP and W_p.

Source: Park, Choi & Lee 2024 (ICLR, arXiv:2406.01012). Only the abstract and an outline were at hand; the equations are those
of the authors' code of systematic associative recall (taewonpark/AID, SARtask), whose mixing of slots by a mask of
1e-6 and unused layers are left out, and whose dropout of S_0 is ``dropout``.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tprpapers.successors.fast_weights import FastWeightConfig, FastWeightMemory, split_role

EPSILON = 1e-8


@dataclass(frozen=True)
class AIDConfig(FastWeightConfig):
    """Sizes of the memory, ``n_parts`` of the input, each ``d_part`` wide, and ``n_iterations`` of the competition."""

    d_model: int = 48
    n_parts: int = 3
    d_part: int = 16
    n_iterations: int = 2


class SlotCompetition(nn.Module):
    """Slots that take parts of the input in turns: each part is divided among the slots."""

    def __init__(self, config: Any):
        super().__init__()
        d = config.d_role
        self.n_iterations = config.n_iterations
        self.to_query = nn.Linear(d, d)
        self.to_key, self.to_value = (nn.Linear(config.d_model, d) for _ in range(2))
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.project = nn.Linear(2 * d, d)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        initial: Float[Tensor, "*batch slot d_role"],
        segments: Float[Tensor, "*batch part d_model"],
    ) -> Float[Tensor, "*batch slot d_role"]:
        key, value = F.elu(self.to_key(segments)) + 1, self.to_value(segments)
        slots, d = initial, initial.shape[-1]
        for _ in range(self.n_iterations):
            query = F.elu((self.to_query(slots) + initial) * d**-0.5) + 1
            shares = (key @ query.mT).softmax(-1) + EPSILON
            update = (shares / shares.sum(-2, keepdim=True)).mT @ value
            slots = slots + self.mlp(self.norm(update)) / d
        return self.project(torch.cat([self.dropout(initial), slots], -1)).tanh()


class IterativeDecomposition(FastWeightMemory):
    """A fast-weight memory whose components are decomposed by attention."""

    config_class: Any = AIDConfig
    config: AIDConfig

    @property
    def part_shape(self) -> tuple[int, ...]:
        return (self.config.n_parts, self.config.d_model)

    def build_recurrence(self, config: AIDConfig) -> None:
        self.to_parts = nn.Linear(config.d_embedding, config.n_parts * config.d_part)
        self.lstm = nn.LSTMCell(config.d_part, config.d_model)
        self.from_hidden = nn.Linear(self.d_hidden, config.d_model)

    def build_decomposition(self, config: AIDConfig) -> None:
        self.first_binding = nn.Linear(self.d_hidden, 3 * config.d_role)
        self.first_reasoning = nn.Linear(self.d_hidden, (1 + config.n_reads) * config.d_role)
        self.competition = SlotCompetition(config)

    def split_input(self, vectors: Tensor) -> Float[Tensor, "batch seq part d_part"]:
        return self.to_parts(vectors).unflatten(-1, (self.config.n_parts, -1))

    def compete(
        self,
        initial: Float[Tensor, "batch seq d_slots"],
        hidden: Float[Tensor, "batch seq d_hidden"],
    ) -> Float[Tensor, "batch seq d_slots"]:
        slots = initial.unflatten(-1, (-1, self.config.d_role))
        return self.competition(slots, hidden.unflatten(-1, self.part_shape)).flatten(-2)

    def decompose(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        slots = self.compete(self.first_binding(hidden), hidden)
        return split_role(slots, self.config.d_role)

    def query(self, hidden: Tensor) -> Float[Tensor, "batch seq d_unbinding"]:
        return self.compete(self.first_reasoning(hidden), hidden)

    def summarize(self, hidden: Tensor) -> Float[Tensor, "batch seq d_model"]:
        return self.dropout(self.from_hidden(hidden))
