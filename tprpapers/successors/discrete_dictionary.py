"""D3: roles, fillers and unbinding vectors are looked up in dictionaries of learned keys and values.

    q_j = LN(W_j h_t), one LN for all components;   I_j = the n entries i with the largest q_j · k_i / ‖k_i‖
    component j = tanh(W_m (Σ_{i ∈ I_j} softmax_i(q_j · k_i / ‖k_i‖) v_i + W_c q_j))

The two keys of the memory and its filler have a dictionary each. Unbinding vectors use those of the keys that they
stand for: the first that of the first key, all others that of the second. Memory and reading are those of FWM.

Source: Park, Kim & Lee 2024 (NeurIPS, arXiv:2406.06976). Only the abstract and reviews of the paper were at hand; the
equations are those of the authors' code of systematic associative recall (taewonpark/D3, SARtask/models/D3_wF.py, MIT
license): with the same random weights, components differ from those of that code by less than 4e-6, the size of the mask
by which it mixes them and which is left out here.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tprpapers.successors.fast_weights import FastWeightConfig, FastWeightMemory, split_role


@dataclass(frozen=True)
class D3Config(FastWeightConfig):
    """Sizes of the memory; dictionaries have ``n_entries`` with keys of ``d_key`` and values of ``d_value``, of which
    ``n_chosen`` are used at a step.
    """

    n_entries: int = 64
    n_chosen: int = 8
    d_key: int = 8
    d_value: int = 16


class Dictionary(nn.Module):
    """Learned entries: a query gets the mean of the values whose keys are nearest."""

    def __init__(self, config: D3Config):
        super().__init__()
        self.n_chosen = config.n_chosen
        bound = config.d_key**-0.5
        self.keys = nn.Parameter(torch.empty(config.n_entries, config.d_key))
        nn.init.uniform_(self.keys, -bound, bound)
        self.values = nn.Parameter(torch.empty(config.n_entries, config.d_value))
        nn.init.normal_(self.values, std=config.d_value**-0.5)

    def forward(self, query: Float[Tensor, "*batch d_key"]) -> Float[Tensor, "*batch d_value"]:
        scores, entries = (query @ F.normalize(self.keys, dim=-1).T).topk(self.n_chosen, -1)
        return (scores.softmax(-1)[..., None] * self.values[entries]).sum(-2)


class DiscreteDictionaries(FastWeightMemory):
    """A fast-weight memory whose components come from dictionaries."""

    config_class: Any = D3Config
    config: D3Config

    def build_decomposition(self, config: D3Config) -> None:
        n_reads, d_key = 1 + config.n_reads, config.d_key
        self.dictionaries = nn.ModuleList(Dictionary(config) for _ in range(3))
        self.binding_query = nn.Linear(config.d_model, 3 * d_key)
        self.reasoning_query = nn.Linear(config.d_model, n_reads * d_key)
        self.norm = nn.LayerNorm(d_key)
        self.from_query = nn.Linear(d_key, config.d_value)
        self.to_component = nn.Linear(config.d_value, config.d_role)

    def look_up(
        self, query: Float[Tensor, "batch seq d_queries"], dictionaries: list[int]
    ) -> Float[Tensor, "batch seq d_components"]:
        """The components of all queries of a step, one for every dictionary that is named."""
        queries = self.dropout(self.norm(query.unflatten(-1, (len(dictionaries), -1))))
        values = [self.dictionaries[n](queries[..., i, :]) for i, n in enumerate(dictionaries)]
        components = self.to_component(torch.stack(values, -2) + self.from_query(queries))
        return components.tanh().flatten(-2)

    def decompose(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        components = self.look_up(self.binding_query(hidden), [0, 1, 2])
        return split_role(components, self.config.d_role)

    def query(self, hidden: Tensor) -> Float[Tensor, "batch seq d_unbinding"]:
        return self.look_up(self.reasoning_query(hidden), [0] + [1] * self.config.n_reads)
